import type { Store } from '@gatehouse/store';

export interface AttemptLimitSettings {
  /** What is counted: part of the store's key. */
  readonly name: string;
  readonly attempts: number;
  readonly windowSeconds: number;
}

/** How long to wait, in seconds; undefined: go on. */
export type Wait = number | undefined;

/** Wrong guesses of one kind by one party. Counted before the guess is looked at, so that a burst counts whole. */
export interface AttemptLimit {
  take(party: string): Promise<Wait>;
  /** The guess was right: it does not count. */
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
