import type { Store } from '@gatehouse/store';

export interface AttemptLimitSettings {
  /** Names what is counted. Part of the store's key. */
  readonly name: string;
  readonly attempts: number;
  readonly windowSeconds: number;
}

/**
 * Wrong guesses of one kind by one party. A guess counts before it is evaluated, so that every
 * guess of a burst counts.
 */
export interface AttemptLimit {
  /** Seconds to wait; undefined when the attempt is allowed. */
  take(party: string): Promise<number | undefined>;
  /** Call it after a right guess, which does not count. */
  giveBack(party: string): Promise<void>;
}

export function createAttemptLimit(store: Store, settings: AttemptLimitSettings): AttemptLimit {
  const { name, attempts, windowSeconds } = settings;
  const keyOf = (party: string) => `attempts:${name}:${party}`;
  return {
    async take(party) {
      const { count, resetsAt } = await store.increment(keyOf(party), windowSeconds);
      return count <= attempts ? undefined : Math.max(1, Math.ceil((resetsAt - Date.now()) / 1000));
    },
    giveBack: (party) => store.decrement(keyOf(party)),
  };
}
