import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';

/** OWASP's second profile for argon2id: 19 MiB, two passes, one lane: about 30 ms of one core. */
const memoryKibibytes = 19_456;
const passes = 2;
const parallelism = 1;
const SALT_BYTES = 16;
const TAG_BYTES = 32;

/** Longer ones are refused before any hashing: OWASP ASVS 6.2.9 asks for at least 64 characters. */
export const MAXIMUM_PASSWORD_BYTES = 1024;

/** argon2id in the PHC text form, `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. The password is taken exactly as it is. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const tag = await argon2id(password, salt, {
    memory: memoryKibibytes,
    passes,
    parallelism,
    tagLength: TAG_BYTES,
  });
  const parameters = `m=${memoryKibibytes},t=${passes},p=${parallelism}`;
  return `$argon2id$v=19$${parameters}$${unpadded(salt)}$${unpadded(tag)}`;
}

/** Whether the password gives this hash. Malformed hashes match nothing. */
export async function verifyPassword(password: string, phc: string): Promise<boolean> {
  const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(phc);
  if (match === null || Buffer.byteLength(password) > MAXIMUM_PASSWORD_BYTES) {
    return false;
  }
  const [, memory, time, lanes, salt = '', expected = ''] = match;
  const expectedTag = Buffer.from(expected, 'base64');
  const tag = await argon2id(password, Buffer.from(salt, 'base64'), {
    memory: Number(memory),
    passes: Number(time),
    parallelism: Number(lanes),
    tagLength: expectedTag.length,
  });
  return timingSafeEqual(tag, expectedTag);
}

/** A hash no password gives: verifying against it costs an unknown user as much time as a known one. */
export const decoyPasswordHash: string = `$argon2id$v=19$m=${memoryKibibytes},t=${passes},p=${parallelism}$${unpadded(randomBytes(SALT_BYTES))}$${unpadded(randomBytes(TAG_BYTES))}`;

type Cost = Pick<Argon2Parameters, 'memory' | 'passes' | 'parallelism' | 'tagLength'>;

function argon2id(password: string, nonce: Buffer, cost: Cost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    argon2('argon2id', { message: password, nonce, ...cost }, (error, tag) => {
      if (error === null) {
        resolve(tag);
      } else {
        reject(error);
      }
    });
  });
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
