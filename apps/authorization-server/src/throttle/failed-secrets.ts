import type { CredentialHash } from '@gatehouse/identity';
import type { Counter, Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import { TryLaterError } from '../requests/failures.ts';
import { failedSecretLimit } from './limits.ts';

export type FailedSecrets = ReturnType<typeof createFailedSecrets>;

/**
 * Callers can present any number of client ids. All ids of one address share this many counters, so
 * that they cannot fill the store. Known and unknown ids share them, so the replies do not differ.
 */
const COUNTERS_OF_AN_ADDRESS = 256;

/** A client can send thousands of requests a second, so each process reads a count once a second. */
const COPY_MAXIMUM_AGE_MILLISECONDS = 1000;
const MAXIMUM_COPIES = 10_000;
type Copy = Counter & { readonly readAt: number };
/** A caller chooses the length of the client id. Longer ones are read at every request. */
const MAXIMUM_PARTY_CHARACTERS = 256;

/**
 * Counts wrong client secrets for each client and address group, so that an attacker cannot lock out
 * a client at other addresses.
 */
export function createFailedSecrets(dependencies: {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
  /** Called for every attempt that the limit rejects. */
  readonly onLimited?: () => void;
  readonly now?: () => number;
}) {
  const { store, credentialHash, onLimited, now = Date.now } = dependencies;
  const copies = new LRUCache<string, Copy>({ max: MAXIMUM_COPIES });

  /** @param added 0 to read, from a copy if possible */
  async function count(clientId: string, address: string, added: 0 | 1): Promise<Counter> {
    const party = `${address} ${clientId}`;
    const copy = added === 0 ? copies.get(party) : undefined;
    const age = copy === undefined ? Infinity : now() - copy.readAt;
    if (copy !== undefined && age >= 0 && age < COPY_MAXIMUM_AGE_MILLISECONDS) {
      return copy;
    }
    const hash = Buffer.from(credentialHash(party), 'base64url');
    const key = `failed-secrets:${address}:${hash.readUInt16BE() % COUNTERS_OF_AN_ADDRESS}`;
    const counter = await store.increment(key, failedSecretLimit.windowSeconds, added);
    if (party.length <= MAXIMUM_PARTY_CHARACTERS) {
      copies.set(party, { ...counter, readAt: now() });
    }
    return counter;
  }

  const isAllowed = ({ count: failed, resetsAt }: Counter) =>
    failed < failedSecretLimit.attempts || resetsAt <= now();

  return {
    /** Whether `assertMayTry` would allow the attempt. */
    mayTry: async (clientId: string, address: string) =>
      isAllowed(await count(clientId, address, 0)),
    /** @throws TryLaterError when this address guessed too often for this client */
    async assertMayTry(clientId: string, address: string): Promise<void> {
      const counter = await count(clientId, address, 0);
      if (!isAllowed(counter)) {
        onLimited?.();
        throw new TryLaterError('client_secret_limit', counter.resetsAt);
      }
    },
    record: (clientId: string, address: string) => count(clientId, address, 1),
  };
}
