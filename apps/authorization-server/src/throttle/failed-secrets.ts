import type { CredentialHash } from '@gatehouse/identity';
import type { Counter, Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import { TooManyAttemptsError } from '../requests/too-many-attempts-error.ts';
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
  const copies = new LRUCache<string, Counter & { readonly readAt: number }>({
    max: MAXIMUM_COPIES,
  });
  const { attempts, windowSeconds } = failedSecretLimit;
  const partyOf = (clientId: string, address: string) => `${address} ${clientId}`;
  const keyOf = (party: string) => {
    const [address] = party.split(' ', 1);
    const hash = Buffer.from(credentialHash(party), 'base64url');
    return `failed-secrets:${address}:${hash.readUInt16BE() % COUNTERS_OF_AN_ADDRESS}`;
  };

  function keepCopy(party: string, counter: Counter | undefined) {
    const entry = { ...(counter ?? { count: 0, resetsAt: 0 }), readAt: now() };
    if (party.length <= MAXIMUM_PARTY_CHARACTERS) {
      copies.set(party, entry);
    }
    return entry;
  }

  async function read(party: string) {
    const entry = copies.get(party);
    if (entry !== undefined) {
      const age = now() - entry.readAt;
      if (age >= 0 && age < COPY_MAXIMUM_AGE_MILLISECONDS) {
        return entry;
      }
    }
    return keepCopy(party, await store.counter(keyOf(party)));
  }

  const isOver = ({ count, resetsAt }: Counter) => count >= attempts && resetsAt > now();

  return {
    /** Whether `assertMayTry` would allow the attempt. */
    mayTry: async (clientId: string, address: string) =>
      !isOver(await read(partyOf(clientId, address))),
    /** @throws TooManyAttemptsError when this address guessed too often for this client */
    async assertMayTry(clientId: string, address: string): Promise<void> {
      const counter = await read(partyOf(clientId, address));
      if (isOver(counter)) {
        onLimited?.();
        throw new TooManyAttemptsError('client_secret_limit', counter.resetsAt, now());
      }
    },
    async record(clientId: string, address: string): Promise<void> {
      const party = partyOf(clientId, address);
      keepCopy(party, await store.increment(keyOf(party), windowSeconds));
    },
  };
}
