// requires: redis-server

import { describe, expect, test } from '@jest/globals';
import { TooManyAttemptsError } from '../src/requests/too-many-attempts-error.ts';
import { chargeBudgets } from '../src/throttle/stored-budgets.ts';
import { openSuiteStores } from './suite-stores.ts';

const stores = await openSuiteStores();

describe.each(stores)('the budget of stored bytes on $engine', ({ system: { store } }) => {
  test('can be used up exactly, and rejects one byte more', async () => {
    const budgets = [{ party: 'address', bytes: 100 }];
    const charge = (bytes: number) =>
      chargeBudgets(store, { name: 'test', bytes, windowSeconds: 60, budgets });
    await charge(99);
    await charge(1);
    const rejected = charge(1);
    await expect(rejected).rejects.toBeInstanceOf(TooManyAttemptsError);
    await expect(rejected).rejects.toMatchObject({
      reason: 'stored_state_limit',
      message: 'Too much is stored for this address, this client, or all public clients.',
      retryAfterSeconds: expect.closeTo(60, -1),
    });
  });
});

test.each([
  [1, 1],
  [1000, 1],
  [1001, 2],
  [-5000, 1],
])(
  'A limit that ends in %d ms is reported as %d s, because 0 s would invite a retry at once.',
  (milliseconds, seconds) => {
    const error = new TooManyAttemptsError('client_secret_limit', 70_000 + milliseconds, 70_000);
    expect(error.retryAfterSeconds).toBe(seconds);
  },
);
