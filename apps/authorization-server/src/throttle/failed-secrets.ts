import type { CredentialHash } from '@gatehouse/identity';
import type { Store } from '@gatehouse/store';
import { failedSecretLimit } from './limits.ts';
import { TooManyAttempts } from './too-many-attempts.ts';

/** Wrong client secrets, counted for (client, address): a guesser must not lock out the client itself. */
export interface FailedSecrets {
  /** @throws TooManyAttempts when this address guessed too often for this client */
  assertMayTry(clientId: string, address: string): Promise<void>;
  record(clientId: string, address: string): Promise<void>;
}

/** A good client asks thousands of times a second, so a count is looked at once in a while and remembered. */
const LOOK_AGAIN_MILLISECONDS = 1000;
const MAXIMUM_REMEMBERED = 10_000;

export function createFailedSecrets(dependencies: {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
  /** Hears of every attempt that may not be made. */
  readonly onRefused?: () => void;
  readonly now?: () => number;
}): FailedSecrets {
  const { store, credentialHash, onRefused, now = Date.now } = dependencies;
  const remembered = new Map<string, { count: number; resetsAt: number; readAt: number }>();
  const { attempts, windowSeconds } = failedSecretLimit;
  // What comes as a client id may be anything, and of any length.
  const keyOf = (clientId: string, address: string) =>
    `failed-secrets:${credentialHash(`${address} ${clientId}`)}`;

  function remember(key: string, counter: { count: number; resetsAt: number } | undefined) {
    if (remembered.size >= MAXIMUM_REMEMBERED) {
      remembered.clear();
    }
    const entry = { ...(counter ?? { count: 0, resetsAt: 0 }), readAt: now() };
    remembered.set(key, entry);
    return entry;
  }

  async function read(key: string) {
    const entry = remembered.get(key);
    const age = entry === undefined ? -1 : now() - entry.readAt;
    return entry !== undefined && age >= 0 && age < LOOK_AGAIN_MILLISECONDS
      ? entry
      : remember(key, await store.counter(key));
  }

  return {
    async assertMayTry(clientId, address) {
      const { count, resetsAt } = await read(keyOf(clientId, address));
      if (count >= attempts && resetsAt > now()) {
        onRefused?.();
        throw new TooManyAttempts(resetsAt, now());
      }
    },
    async record(clientId, address) {
      const key = keyOf(clientId, address);
      remember(key, await store.increment(key, windowSeconds));
    },
  };
}
