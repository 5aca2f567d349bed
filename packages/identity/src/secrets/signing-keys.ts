/**
 * The signing keys of one purpose. A key is published before it signs, and stays published until
 * all tokens that it signed have expired.
 *
 *   created ── publishAhead ─▶ signs ── rotateAfter ─▶ successor signs ── longestToken ─▶ deleted
 *
 * One encrypted record contains all keys of a purpose. Processes change it under its lock.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  hash,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';
import { StoreUnavailableError } from '@gatehouse/store';
import { withRecordLock } from '../records/record-lock.ts';
import type { SecretDependencies } from './seal.ts';

/** The provider signs ID tokens. The gateway signs the identity headers for upstream services. */
export const algorithms = { 'authorization-server': 'RS256', gateway: 'EdDSA' } as const;

export type SigningPurpose = keyof typeof algorithms;

export const signingPurposes = Object.keys(algorithms) as readonly SigningPurpose[];

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const defaultSigningKeyPolicy = {
  /** The age at which a successor is created. */
  rotateAfterSeconds: 90 * DAY,
  /** How long a key is published before it signs, so that verifiers can load it. */
  publishAheadSeconds: HOUR,
  /**
   * The maximum lifetime of a signed token. Operators can set this lifetime for ID tokens. Access
   * tokens that are JWTs expire earlier.
   */
  longestTokenSeconds: 7 * DAY,
};

export type SigningKeyPolicy = Readonly<typeof defaultSigningKeyPolicy>;

/** How often processes read the keys. Keys are kept longer by this time. */
const KEY_RELOAD_SECONDS = MINUTE;

export interface SigningKeyDependencies
  extends Pick<SecretDependencies, 'store' | 'sealer' | 'onDamagedRecord'> {
  /** Epoch milliseconds. */
  readonly now?: () => number;
  readonly policy?: SigningKeyPolicy | undefined;
  /** Called in the process that created a key. */
  readonly onMade?: (kid: string) => void;
}

/**
 * The record of the keys cannot be decrypted. Nothing is signed, and the record is not replaced.
 * Requests get 503 until an operator deletes the record.
 */
export class DamagedSigningKeysError extends StoreUnavailableError {
  override readonly name = 'DamagedSigningKeysError';

  constructor(storeKey: string, cause: unknown) {
    const reason = `The record ${storeKey} in the store cannot be decrypted: it was damaged, or encrypted with another master key.`;
    super('signing keys', cause, `${reason} Delete the record. The server then creates a new key.`);
  }
}

/** The store key of the keys of a purpose, which is also the context of their encryption. */
export function signingKeyRecord(purpose: SigningPurpose): string {
  return `signing-key:${purpose}:${algorithms[purpose]}`;
}

/** Newest first. */
type Ring = readonly { readonly jwk: JsonWebKey; readonly createdAt: number }[];

/** Reads the keys, creates the first key or a successor that is due, and deletes expired keys. */
export async function loadSigningKeys(
  purpose: SigningPurpose,
  dependencies: SigningKeyDependencies,
): Promise<SigningKeys> {
  const { store, sealer, now = Date.now, policy = defaultSigningKeyPolicy, onMade } = dependencies;
  const storeKey = signingKeyRecord(purpose);
  const read = async () => openRing(await store.get(storeKey), storeKey, dependencies);
  const isDue = ([newest]: Ring) =>
    newest === undefined || now() - newest.createdAt >= policy.rotateAfterSeconds * 1000;
  const ring = await read();
  if (!isDue(ring) && withoutExpired(ring, now(), policy).length === ring.length) {
    return select(ring, purpose, now(), policy);
  }
  return withRecordLock(store, storeKey, async (assertHeld) => {
    const before = await read();
    const made = isDue(before)
      ? [{ jwk: await generatePrivateJwk(purpose), createdAt: now() }]
      : [];
    const after = withoutExpired([...made, ...before], now(), policy);
    assertHeld();
    await store.set(storeKey, sealer.seal(JSON.stringify({ keys: after }), storeKey));
    for (const { jwk } of made) {
      onMade?.(toSigningKey(jwk, purpose).kid);
    }
    return select(after, purpose, now(), policy);
  });
}

/** @throws DamagedSigningKeysError */
export function openRing(
  text: string | undefined,
  storeKey: string,
  { sealer, onDamagedRecord }: SigningKeyDependencies,
): Ring {
  try {
    const { keys } = text === undefined ? { keys: [] } : JSON.parse(sealer.open(text, storeKey));
    if (!Array.isArray(keys)) {
      throw new TypeError('The record is no list of keys.');
    }
    return keys;
  } catch (cause) {
    const damage = new DamagedSigningKeysError(storeKey, cause);
    onDamagedRecord?.('signing key', storeKey, damage.reason);
    throw damage;
  }
}

/** A key is over when all of its tokens have expired since its successor replaced it. */
function withoutExpired(ring: Ring, now: number, policy: SigningKeyPolicy): Ring {
  return ring.filter((_key, i) => {
    const successor = ring[i - 1];
    return successor === undefined || now < successor.createdAt + keptSeconds(policy) * 1000;
  });
}

/** After the successor was created. */
export const keptSeconds = ({ publishAheadSeconds, longestTokenSeconds }: SigningKeyPolicy) =>
  publishAheadSeconds + longestTokenSeconds + 2 * KEY_RELOAD_SECONDS;

export type SigningKeys = ReturnType<typeof select>;

/** The keys of a ring, of which one signs now. */
export function select(ring: Ring, purpose: SigningPurpose, now: number, policy: SigningKeyPolicy) {
  const publishedBefore = now - policy.publishAheadSeconds * 1000;
  const ready = ring.findIndex(({ createdAt }) => createdAt <= publishedBefore);
  // At the first start, no key was published long enough, but no verifier has an older set.
  const index = ready === -1 ? ring.length - 1 : ready;
  const keys = ring.map(({ jwk }) => toSigningKey(jwk, purpose));
  const current = keys[index];
  if (current === undefined) {
    throw new Error('The record of the signing keys in the store is empty.');
  }
  /** `all` keys of the JWKS document, the current one first. */
  return { current, all: [current, ...keys.filter((key) => key !== current)] };
}

export type KeptSigningKeys = ReturnType<typeof keepSigningKeys>;

/** The signing keys of a running process, which reads them every minute and rotates them. */
export function keepSigningKeys(purpose: SigningPurpose, dependencies: SigningKeyDependencies) {
  const { now = Date.now } = dependencies;
  let kept: { readonly keys: Promise<SigningKeys>; readonly readAt: number } | undefined;

  /**
   * @throws StoreUnavailableError before the first success, or if the record of the keys is damaged
   */
  function load(): Promise<SigningKeys> {
    const readAt = now();
    const last = kept;
    const age = last === undefined ? 0 : readAt - last.readAt;
    if (last !== undefined && age >= 0 && age < KEY_RELOAD_SECONDS * 1000) {
      return last.keys;
    }
    const keys = loadSigningKeys(purpose, dependencies).catch((error: unknown) => {
      // The last keys stay in use while the store is unavailable.
      const isOutage =
        error instanceof StoreUnavailableError && !(error instanceof DamagedSigningKeysError);
      if (last !== undefined && isOutage) {
        return last.keys;
      }
      kept = undefined;
      throw error;
    });
    kept = { keys, readAt };
    return keys;
  }

  return {
    load,
    current: async () => (await load()).current,
    /** A JWKS document (RFC 7517 §5). */
    jwks: async () => ({ keys: (await load()).all.map((key) => key.publicJwk) }),
  };
}

/** An unknown `kid` is looked for at once, but not more often than this. */
const UNKNOWN_KEY_MILLISECONDS = 1000;

/** Finds the public keys of a purpose, in a process that signs nothing with them. */
export function createPublicKeys(
  purpose: SigningPurpose,
  dependencies: Pick<SigningKeyDependencies, 'store' | 'sealer' | 'now' | 'onDamagedRecord'>,
) {
  const { store, now = Date.now } = dependencies;
  const storeKey = signingKeyRecord(purpose);
  let keys: ReadonlyMap<string, KeyObject> = new Map();
  let readAt = Number.NEGATIVE_INFINITY;
  /** @throws StoreUnavailableError if the key is unknown, or the record of the keys is damaged */
  return async (kid: string): Promise<KeyObject | undefined> => {
    const startedAt = now();
    const age = startedAt - readAt;
    const maximumAge = keys.has(kid) ? KEY_RELOAD_SECONDS * 1000 : UNKNOWN_KEY_MILLISECONDS;
    if (age < 0 || age >= maximumAge) {
      const ring = openRing(await store.get(storeKey), storeKey, dependencies);
      const publicKeyOf = (jwk: JsonWebKey) => createPublicKey({ key: jwk, format: 'jwk' });
      keys = new Map(ring.map(({ jwk }) => [thumbprint(jwk, 'base64url'), publicKeyOf(jwk)]));
      readAt = startedAt;
    }
    return keys.get(kid);
  };
}

const generate = promisify(generateKeyPair);

/** Asynchronous, because an RSA key takes up to a second. */
async function generatePrivateJwk(purpose: SigningPurpose): Promise<JsonWebKey> {
  const { privateKey } =
    algorithms[purpose] === 'EdDSA'
      ? await generate('ed25519')
      : await generate('rsa', { modulusLength: 2048 });
  return privateKey.export({ format: 'jwk' });
}

/** A private key that all processes of one app share in the store, where it is encrypted. */
export type SigningKey = ReturnType<typeof toSigningKey>;

function toSigningKey(privateJwk: JsonWebKey, purpose: SigningPurpose) {
  const privateKey = createPrivateKey({ key: privateJwk, format: 'jwk' });
  const bare = createPublicKey(privateKey).export({ format: 'jwk' });
  const kid = thumbprint(bare, 'base64url');
  const description = { kid, alg: algorithms[purpose], use: 'sig' };
  return {
    kid,
    privateKey,
    privateJwk: { ...privateJwk, ...description },
    publicJwk: { ...bare, ...description },
  };
}

/** The thumbprint of a key (RFC 7638 §3.2): its required members in lexical order. */
export function thumbprint(key: JsonWebKey, encoding: 'hex' | 'base64url'): string {
  const { crv, e, kty, n, x, y } = key;
  const members = kty === 'RSA' ? { e, kty, n } : { crv, kty, x, y };
  return hash('sha256', JSON.stringify(members), encoding);
}
