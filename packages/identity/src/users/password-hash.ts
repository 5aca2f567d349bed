import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, constants, getPriority, setPriority } from 'node:os';
import { promisify } from 'node:util';
import { createPasswordHashingQueue } from './password-hashing-queue.ts';

/** The memory is in kibibytes. */
export type PasswordHashCost = Pick<Argon2Parameters, 'memory' | 'passes' | 'parallelism'>;

/**
 * OWASP's second profile for argon2id: 19 MiB, two passes, one lane. It takes about 30 ms of one
 * core. A new cost applies to new passwords, and to existing hashes when their user signs in.
 */
export const passwordHashCost: PasswordHashCost = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;

/**
 * Longer passwords are rejected without hashing. OWASP ASVS 6.2.9 requires at least 64 characters.
 */
export const MAXIMUM_PASSWORD_BYTES = 1024;

/**
 * Returns `$argon2id$v=19$m=…,t=…,p=…$salt$hash` (PHC string format). Does not normalize the
 * password.
 *
 * @throws PasswordHashingBusyError if the queue is full
 */
export async function hashPassword(
  password: string,
  cost: PasswordHashCost = passwordHashCost,
): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return toPhc(cost, salt, await argon2id(password, salt, { ...cost, tagLength: TAG_BYTES }));
}

/** Whether the cost of a hash differs from the current cost. */
export function isOutdatedHash(phc: string): boolean {
  return !phc.startsWith(phcPrefix(passwordHashCost));
}

function phcPrefix({ memory, passes, parallelism }: PasswordHashCost): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`;
}

function toPhc(cost: PasswordHashCost, salt: Buffer, tag: Buffer): string {
  return `${phcPrefix(cost)}${unpadded(salt)}$${unpadded(tag)}`;
}

/**
 * Whether the password has this hash. A malformed hash matches no password.
 *
 * @throws PasswordHashingBusyError if the queue is full
 */
export async function verifyPassword(password: string, phc: string): Promise<boolean> {
  const parsed = parsePhc(phc);
  if (parsed === undefined || Buffer.byteLength(password) > MAXIMUM_PASSWORD_BYTES) {
    return false;
  }
  const { salt, tag, ...cost } = parsed;
  const actual = await argon2id(password, salt, { ...cost, tagLength: tag.length });
  return timingSafeEqual(actual, tag);
}

/**
 * Up to 1 GB, 19 passes and 9 lanes: a damaged record must not match by a truncated tag or keep the
 * process busy for minutes.
 */
const PHC =
  /^\$argon2id\$v=19\$m=([1-9]\d{2,5}),t=(1?[1-9]),p=([1-9])\$([A-Za-z\d+/]{22,86})\$([A-Za-z\d+/]{22,86})$/;

function parsePhc(phc: string) {
  const [, memory, passes, parallelism, salt = '', tag = ''] = PHC.exec(phc) ?? [];
  return parallelism === undefined
    ? undefined
    : {
        memory: Number(memory),
        passes: Number(passes),
        parallelism: Number(parallelism),
        salt: Buffer.from(salt, 'base64'),
        tag: Buffer.from(tag, 'base64'),
      };
}

/** No password has this hash. Verifying it takes as long for an unknown user as for a known one. */
export const decoyPasswordHash: string = toPhc(
  passwordHashCost,
  randomBytes(SALT_BYTES),
  randomBytes(TAG_BYTES),
);

const CORES = availableParallelism();
/** A full queue takes about half a second. */
const WAITING_PER_CORE = 16;
/** The whole process shares one queue, because it shares cores and memory. */
let queue = createQueue(CORES);

function createQueue(cores: number) {
  return createPasswordHashingQueue({ concurrency: cores, waiting: cores * WAITING_PER_CORE });
}

/** Divides the cores among the workers of an app. Call it before the first password is hashed. */
export function sharePasswordHashing(workers: number): void {
  queue = createQueue(Math.ceil(CORES / workers));
}

/** For metrics. */
export const passwordHashingLoad = () => queue.load();

/** Takes as long as verifying a password, but hashes only if no duration is known. */
export async function pauseLikeVerifying(): Promise<void> {
  if (!(await queue.pause())) {
    await verifyPassword('', decoyPasswordHash);
  }
}

type Cost = PasswordHashCost & Pick<Argon2Parameters, 'tagLength'>;

const computeArgon2 = promisify(argon2);
let hasYielded = false;

function argon2id(message: string, nonce: Buffer, cost: Cost): Promise<Buffer> {
  return queue.run(() => {
    const tag = computeArgon2('argon2id', { message, nonce, ...cost });
    if (!hasYielded) {
      hasYielded = true;
      yieldToMainThread();
    }
    return tag;
  });
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

const TASKS = '/proc/self/task';
const POOL_THREAD = 'libuv-worker';
/** A larger value is a lower priority. */
const STEP = 10;

/**
 * Gives the threads that hash passwords a lower priority, so that a flood of sign-ins uses every
 * idle core and no other request waits for one. They exist after the first hash has started. Only
 * Linux has a priority for each thread.
 */
function yieldToMainThread(): void {
  try {
    // The process itself may have been started with a lower priority.
    const lowered = Math.min(getPriority() + STEP, constants.priority.PRIORITY_LOW);
    for (const thread of readdirSync(TASKS)) {
      const name = readFileSync(`${TASKS}/${thread}/comm`, 'utf8').trim();
      if (name === POOL_THREAD) {
        setPriority(Number(thread), lowered);
      }
    }
  } catch {
    // Not Linux.
  }
}
