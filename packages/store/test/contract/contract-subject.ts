import type { Store } from '../../src/port/store.ts';

/** What a part of the contract works with. Keys are fresh, so that tests don't meet. */
export interface ContractSubject {
  readonly url: () => string;
  readonly store: () => Store;
  readonly freshKey: (kind?: string) => string;
}
