/** Passkeys as an authenticator makes them (WebAuthn Level 3 §6): real CBOR, keys and signatures. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { VisitedPage } from './page-visitor.ts';

export type Cbor = number | string | Buffer | Map<number | string, Cbor> | readonly Cbor[];

/** RFC 8949 §3, for what passkeys need. */
export function cbor(value: Cbor): Buffer {
  const head = (major: number, length: number) => {
    const bytes = length < 24 ? [length] : length < 256 ? [24, length] : [25, length >> 8, length];
    const [first = 0, ...rest] = bytes;
    return Buffer.of((major << 5) | first, ...rest);
  };
  if (typeof value === 'number') {
    return value < 0 ? head(1, -1 - value) : head(0, value);
  }
  if (typeof value === 'string') {
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  }
  if (Buffer.isBuffer(value)) {
    return Buffer.concat([head(2, value.length), value]);
  }
  if (value instanceof Map) {
    const members = [...value].flatMap(([name, member]) => [cbor(name), cbor(member)]);
    return Buffer.concat([head(5, value.size), ...members]);
  }
  return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
}

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest();
const base64url = (data: Buffer | string) => Buffer.from(data).toString('base64url');

/** What an attacker, or a broken authenticator, does differently. */
export interface Deviation {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  readonly userVerified?: boolean;
  readonly userHandle?: string | undefined;
  readonly counter?: number;
  readonly attestation?: readonly [format: string, statement: Map<string, Cbor>];
  readonly alter?: 'signature' | 'id';
}

export type SoftwareAuthenticator = ReturnType<typeof createSoftwareAuthenticator>;

/** Has one passkey. */
export function createSoftwareAuthenticator(
  origin: string,
  { isBackedUp = true, counts = false } = {},
) {
  const id = randomBytes(16);
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let counter = 0;
  let userHandle = '';

  function clientData(type: string, challenge: string, deviation: Deviation) {
    const { crossOrigin = false } = deviation;
    const data = { type, challenge, origin, crossOrigin, ...pick(deviation) };
    return Buffer.from(JSON.stringify(data));
  }

  function authenticatorData(rpId: string, deviation: Deviation, attested?: Buffer) {
    counter += counts ? 1 : 0;
    const { userVerified = true } = deviation;
    const flags = 1 | (userVerified ? 4 : 0) | (isBackedUp ? 24 : 0) | (attested ? 64 : 0);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(deviation.counter ?? counter);
    const parts = [sha256(deviation.rpId ?? rpId), Buffer.of(flags), count];
    return Buffer.concat(attested ? [...parts, attested] : parts);
  }

  return {
    id: base64url(id),
    /** As the store has it. */
    publicKey: base64url(coseKey(publicKey)),
    /** Answers `navigator.credentials.create`. */
    create(options: string, deviation: Deviation = {}): string {
      const { challenge, rp, user } = JSON.parse(options);
      userHandle = user.id;
      const length = Buffer.of(id.length >> 8, id.length & 255);
      const attested = Buffer.concat([Buffer.alloc(16), length, id, coseKey(publicKey)]);
      const [format, statement] = deviation.attestation ?? ['none', new Map<string, Cbor>()];
      const attestationObject = cbor(
        new Map<string, Cbor>([
          ['fmt', format],
          ['attStmt', statement],
          ['authData', authenticatorData(rp.id, deviation, attested)],
        ]),
      );
      return JSON.stringify({
        ...{ id: base64url(id), rawId: base64url(id), type: 'public-key' },
        response: {
          clientDataJSON: base64url(clientData('webauthn.create', challenge, deviation)),
          attestationObject: base64url(attestationObject),
          transports: ['internal'],
        },
      });
    },
    /** Answers `navigator.credentials.get`. */
    get(options: string, deviation: Deviation = {}): string {
      const { challenge, rpId } = JSON.parse(options);
      const data = clientData('webauthn.get', challenge, deviation);
      const authData = authenticatorData(rpId, deviation);
      const signed = Buffer.concat([authData, sha256(data)]);
      const signature = sign('sha256', signed, privateKey);
      if (deviation.alter === 'signature') {
        signature.writeUInt8(signature.readUInt8(signature.length - 1) ^ 1, signature.length - 1);
      }
      const named = base64url(deviation.alter === 'id' ? randomBytes(16) : id);
      return JSON.stringify({
        ...{ id: named, rawId: named, type: 'public-key' },
        response: {
          clientDataJSON: base64url(data),
          authenticatorData: base64url(authData),
          signature: base64url(signature),
          userHandle: 'userHandle' in deviation ? deviation.userHandle : userHandle,
        },
      });
    },
  };
}

function pick({ type, challenge, origin }: Deviation) {
  const given = Object.entries({ type, challenge, origin });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** RFC 9053 §7.1.1, for ES256. */
function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  const [X, Y] = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')];
  return cbor(
    new Map<number, Cbor>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, X],
      [-3, Y],
    ]),
  );
}

/** The options that a page has for the browser. */
export function passkeyOptions({ body }: Pick<VisitedPage, 'body'>): string {
  const [, options = ''] = /data-options="([^"]*)"/.exec(body) ?? [];
  return options.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}
