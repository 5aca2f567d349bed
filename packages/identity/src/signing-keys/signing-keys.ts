/**
 * The signing keys of one purpose: one signs, the next is published before it does, the last stays published
 * until what it signed is dead.
 *
 *   made ── publishAhead ──▶ signs ── rotateAfter ──▶ (successor made, published, signs) ── longestToken ──▶ gone
 *
 * All of it lies sealed under one store key and changes under its lock, so that any number of processes agree.
 */
import type { JsonWebKey } from 'node:crypto';
import { type Store, StoreUnavailableError } from '@gatehouse/store';
import type { OnDamagedRecord } from '../records/damaged-record.ts';
import { withRecordLock } from '../records/record-lock.ts';
import type { Sealer } from '../secrets/seal.ts';
import {
  generatePrivateJwk,
  type SigningAlgorithm,
  type SigningKey,
  toSigningKey,
} from './signing-key.ts';

/** Who signs: the provider its ID tokens, the gateway what it tells the services behind it. */
export type SigningPurpose = 'authorization-server' | 'gateway';

export interface SigningKeyPolicy {
  /** Age at which a key gets a successor. */
  readonly rotateAfterSeconds: number;
  /** How long a key is published before it signs, so that no verifier meets it unprepared. */
  readonly publishAheadSeconds: number;
  /** How long what a key signed is valid, at most. */
  readonly longestTokenSeconds: number;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const defaultSigningKeyPolicy: SigningKeyPolicy = {
  rotateAfterSeconds: 90 * DAY,
  publishAheadSeconds: HOUR,
  longestTokenSeconds: HOUR,
};

/** Processes look for changes this often; a key is kept this much longer for the last of them to notice. */
export const KEY_RELOAD_SECONDS: number = MINUTE;

export interface SigningKeys {
  readonly current: SigningKey;
  /** The current one first; all of them belong in the JWKS document. */
  readonly all: readonly SigningKey[];
}

export interface SigningKeyDependencies {
  readonly store: Store;
  readonly sealer: Sealer;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  readonly policy?: SigningKeyPolicy;
  /** Called by the one process that made a key. */
  readonly onMade?: (kid: string) => void;
  readonly onDamagedRecord?: OnDamagedRecord | undefined;
}

/**
 * The record of the keys does not open. Nothing is signed and nothing is replaced: requests are 503 until an operator
 * has deleted the record.
 */
export class DamagedSigningKeysError extends StoreUnavailableError {
  constructor(storeKey: string, cause: unknown) {
    const reason = `The record ${storeKey} in the store does not open: it was damaged, or another master key sealed it.`;
    super('signing keys', cause, `${reason} Delete the record. The server then makes a new key.`);
    this.name = 'DamagedSigningKeysError';
  }
}

/** Where the keys of a purpose lie; also what they are sealed for. */
export function signingKeyRecord(purpose: SigningPurpose, algorithm: SigningAlgorithm): string {
  return `signing-key:${purpose}:${algorithm}`;
}

/** Newest first. */
type Ring = readonly { readonly jwk: JsonWebKey; readonly createdAt: number }[];

/** Makes the first key, a successor that is due, and lets go of what is over; else reads what is there. */
export async function loadSigningKeys(
  purpose: SigningPurpose,
  algorithm: SigningAlgorithm,
  dependencies: SigningKeyDependencies,
): Promise<SigningKeys> {
  const { store, now = Date.now, policy = defaultSigningKeyPolicy, onMade } = dependencies;
  const storeKey = signingKeyRecord(purpose, algorithm);
  const read = async () => openRing(await store.get(storeKey), storeKey, dependencies);
  const stored = await read();
  const ring = toRing(stored, now());
  if (!isSingleKey(stored) && !needsChange(ring, now(), policy)) {
    return select(ring, algorithm, now(), policy);
  }
  return withRecordLock(store, storeKey, async (assertHeld) => {
    const before = toRing(await read(), now());
    const isDue = needsSuccessor(before, now(), policy);
    const made = isDue
      ? [{ jwk: await generatePrivateJwk(algorithm), createdAt: now() }, ...before]
      : before;
    const after = made.filter((_key, i) => !isOver(made, i, now(), policy));
    assertHeld();
    await store.set(storeKey, dependencies.sealer.seal(JSON.stringify({ keys: after }), storeKey));
    const keys = select(after, algorithm, now(), policy);
    if (isDue && after[0] !== undefined) {
      onMade?.(toSigningKey(after[0].jwk, algorithm).kid);
    }
    return keys;
  });
}

/** The key that signs now. */
export async function loadSigningKey(
  purpose: SigningPurpose,
  algorithm: SigningAlgorithm,
  dependencies: SigningKeyDependencies,
): Promise<SigningKey> {
  return (await loadSigningKeys(purpose, algorithm, dependencies)).current;
}

type StoredKeys = { readonly keys: Ring } | JsonWebKey;

/** @throws DamagedSigningKeysError */
function openRing(
  text: string | undefined,
  storeKey: string,
  { sealer, onDamagedRecord }: SigningKeyDependencies,
): StoredKeys {
  try {
    return text === undefined ? { keys: [] } : JSON.parse(sealer.open(text, storeKey));
  } catch (cause) {
    const damage = new DamagedSigningKeysError(storeKey, cause);
    onDamagedRecord?.('signing key', damage.reason);
    throw damage;
  }
}

/** As the first version stored it: without its age, which therefore begins now. */
function isSingleKey(stored: StoredKeys): stored is JsonWebKey {
  return 'kty' in stored;
}

function toRing(stored: StoredKeys, now: number): Ring {
  return isSingleKey(stored) ? [{ jwk: stored, createdAt: now }] : stored.keys;
}

function needsChange(ring: Ring, now: number, policy: SigningKeyPolicy): boolean {
  return needsSuccessor(ring, now, policy) || ring.some((_key, i) => isOver(ring, i, now, policy));
}

function needsSuccessor([newest]: Ring, now: number, policy: SigningKeyPolicy): boolean {
  return newest === undefined || now - newest.createdAt >= policy.rotateAfterSeconds * 1000;
}

/** Whether everything a key can have signed is dead: its successor took over long enough ago. */
function isOver(ring: Ring, index: number, now: number, policy: SigningKeyPolicy): boolean {
  const successor = ring[index - 1];
  const seconds = policy.publishAheadSeconds + policy.longestTokenSeconds + 2 * KEY_RELOAD_SECONDS;
  return successor !== undefined && now >= successor.createdAt + seconds * 1000;
}

function select(
  ring: Ring,
  algorithm: SigningAlgorithm,
  now: number,
  policy: SigningKeyPolicy,
): SigningKeys {
  const publishedBefore = now - policy.publishAheadSeconds * 1000;
  const ready = ring.findIndex(({ createdAt }) => createdAt <= publishedBefore);
  // None was published long enough: the first start, where nobody holds an older set.
  const index = ready === -1 ? ring.length - 1 : ready;
  const keys = ring.map(({ jwk }) => toSigningKey(jwk, algorithm));
  const current = keys[index];
  if (current === undefined) {
    throw new Error('The record of the signing keys in the store is empty.');
  }
  return { current, all: [current, ...keys.filter((key) => key !== current)] };
}
