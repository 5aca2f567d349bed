import type { Store } from '@gatehouse/store';
import { TooManyAttemptsError } from './too-many-attempts-error.ts';

/** The number of bytes that a party may store within a window. */
export interface ByteBudget {
  /** Part of the counter's key. */
  readonly party: string;
  readonly bytes: number;
}

/** Thrown before anything is stored. */
export class BudgetExhaustedError extends TooManyAttemptsError {
  constructor(resetsAt: number, now: number) {
    super('stored_state_limit', resetsAt, now);
    this.name = 'BudgetExhaustedError';
    this.message = 'Too much is stored for this address, this client, or all public clients.';
  }
}

/**
 * Charges a record to each budget before it is stored. It stops at the first one that is exhausted:
 * an address that is over its own budget must not use up those that it shares with others. A window
 * does not slide, so within one lifetime up to twice the budget can be stored. In a small or nearly
 * full store, no budget is larger than the free space.
 *
 * @throws BudgetExhaustedError
 */
export async function chargeBudgets(
  store: Store,
  charge: {
    readonly name: string;
    readonly bytes: number;
    readonly windowSeconds: number;
    readonly budgets: readonly ByteBudget[];
  },
): Promise<void> {
  const { usedBytes, maximumBytes = Number.MAX_SAFE_INTEGER } = await store.ping();
  for (const budget of charge.budgets) {
    const key = `stored-bytes:${charge.name}:${budget.party}`;
    const { count, resetsAt } = await store.increment(key, charge.windowSeconds, charge.bytes);
    if (count > Math.min(budget.bytes, maximumBytes - usedBytes)) {
      throw new BudgetExhaustedError(resetsAt, Date.now());
    }
  }
}
