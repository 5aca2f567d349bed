import type { CredentialHash } from '@gatehouse/identity';
import type { Counter, Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import { failedSecretLimit } from './limits.ts';
import { TooManyAttemptsError } from './too-many-attempts-error.ts';

/**
 * Wrong client secrets, counted for each client and address: an attacker must not lock out the
 * client.
 */
export interface FailedSecrets {
  /** Whether `assertMayTry` would allow the attempt. */
  mayTry(clientId: string, address: string): Promise<boolean>;
  /** @throws TooManyAttemptsError when this address guessed too often for this client */
  assertMayTry(clientId: string, address: string): Promise<void>;
  record(clientId: string, address: string): Promise<void>;
}

/**
 * A caller chooses the client ids that it presents. All ids of one address therefore share this
 * many counters, so that the store does not grow with them. Known and unknown ids share them alike,
 * so the replies do not differ.
 */
const COUNTERS_OF_AN_ADDRESS = 256;

/**
 * A good client asks thousands of times a second, so a count is looked at once in a while and
 * remembered.
 */
const LOOK_AGAIN_MILLISECONDS = 1000;
const MAXIMUM_REMEMBERED = 10_000;
const LONGEST_REMEMBERED = 256;

export function createFailedSecrets(dependencies: {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
  /** Called for every attempt that the limit rejects. */
  readonly onLimited?: () => void;
  readonly now?: () => number;
}): FailedSecrets {
  const { store, credentialHash, onLimited, now = Date.now } = dependencies;
  const remembered = new LRUCache<string, Counter & { readonly readAt: number }>({
    max: MAXIMUM_REMEMBERED,
  });
  const { attempts, windowSeconds } = failedSecretLimit;
  const partyOf = (clientId: string, address: string) => `${address} ${clientId}`;
  const keyOf = (party: string) => {
    const [address] = party.split(' ', 1);
    const hash = Buffer.from(credentialHash(party), 'base64url');
    return `failed-secrets:${address}:${hash.readUInt16BE() % COUNTERS_OF_AN_ADDRESS}`;
  };

  function remember(party: string, counter: Counter | undefined) {
    const entry = { ...(counter ?? { count: 0, resetsAt: 0 }), readAt: now() };
    if (party.length <= LONGEST_REMEMBERED) {
      remembered.set(party, entry);
    }
    return entry;
  }

  async function read(party: string) {
    const entry = remembered.get(party);
    const age = entry === undefined ? -1 : now() - entry.readAt;
    return entry !== undefined && age >= 0 && age < LOOK_AGAIN_MILLISECONDS
      ? entry
      : remember(party, await store.counter(keyOf(party)));
  }

  const isOver = ({ count, resetsAt }: Counter) => count >= attempts && resetsAt > now();

  return {
    mayTry: async (clientId, address) => !isOver(await read(partyOf(clientId, address))),
    async assertMayTry(clientId, address) {
      const counter = await read(partyOf(clientId, address));
      if (isOver(counter)) {
        onLimited?.();
        throw new TooManyAttemptsError('client_secret_limit', counter.resetsAt, now());
      }
    },
    async record(clientId, address) {
      const party = partyOf(clientId, address);
      remember(party, await store.increment(keyOf(party), windowSeconds));
    },
  };
}
