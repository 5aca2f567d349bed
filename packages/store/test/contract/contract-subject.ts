import type { Store } from '../../src/store.ts';

/** The store under test. Every key is new, so that tests do not affect each other. */
export interface ContractSubject {
  readonly url: () => string;
  readonly store: () => Store;
  readonly freshKey: (kind?: string) => string;
}

/** Two readings of a window's end may differ this much, because of clocks and round trips. */
export const TOLERANCE_MILLISECONDS = 500;
