import { expect, test } from '@jest/globals';
import { createBoundedLog } from './bounded-log.ts';

const RESETS_AT = 86_400_000;

/** A trail whose capacity gives an origin a share of the given size. */
function open(share: number) {
  let now = 0;
  let count = 0;
  let writes = 0;
  const store = {
    increment: async (_key: string, _window: number, amount = 1) => {
      writes += 1;
      count += amount;
      return { count, resetsAt: RESETS_AT };
    },
    append: async () => undefined,
    read: async () => [],
  };
  const capacities = { trail: 2 * 10 * share };
  const log = { name: 'log', capacities, retentionDays: 10, shareSeconds: 86_400 };
  const { takeShare } = createBoundedLog(log, { store, now: () => now });
  return {
    take: (entries: number) => takeShare('trail', '192.0.2.1', entries),
    writes: () => writes,
    wait: () => {
      now = RESETS_AT;
    },
  };
}

test('An origin adds entries up to its share, and then costs no store operation.', async () => {
  const origin = open(20);
  expect([await origin.take(15), await origin.take(15), await origin.take(15)]).toEqual([15, 5, 0]);
  expect(origin.writes()).toBe(2);
  origin.wait();
  await origin.take(1);
  expect(origin.writes()).toBe(3);
});
