import { describe, expect, test } from '@jest/globals';
import { type ContractSubject, TOLERANCE_MILLISECONDS } from './contract-subject.ts';

export function describeCountersContract({ store, freshKey }: ContractSubject): void {
  describe('counters', () => {
    test('increment counts and returns the end of the window', async () => {
      const key = freshKey();
      const before = Date.now();
      const first = await store().increment(key, 60);
      const second = await store().increment(key, 60);
      expect([first.count, second.count]).toEqual([1, 2]);
      expect(first.resetsAt).toBeGreaterThan(before + 60_000 - TOLERANCE_MILLISECONDS);
      expect(first.resetsAt).toBeLessThan(Date.now() + 60_000 + TOLERANCE_MILLISECONDS);
    });

    test('concurrent increments are all counted, and each sees its own count', async () => {
      const key = freshKey();
      const counters = await Promise.all(
        Array.from({ length: 200 }, () => store().increment(key, 60)),
      );
      const counts = counters.map(({ count }) => count).sort((a, b) => a - b);
      expect(counts).toEqual(Array.from({ length: 200 }, (_, number) => number + 1));
    });

    test('increment adds the whole amount, and 0 only reads', async () => {
      const key = freshKey();
      const counters = await Promise.all([5, 1, 10].map((n) => store().increment(key, 60, n)));
      expect(Math.max(...counters.map(({ count }) => count))).toBe(16);
      await expect(store().increment(key, 60, -1)).rejects.toBeInstanceOf(RangeError);
      expect((await store().increment(freshKey(), 60, 0)).count).toBe(0);
    });

    test('decrement subtracts one, never goes below zero and keeps the window', async () => {
      const key = freshKey();
      const { resetsAt } = await store().increment(key, 60);
      await store().decrement(key);
      await store().decrement(key);
      const counter = await store().increment(key, 60, 0);
      expect(counter.count).toBe(0);
      expect(Math.abs(counter.resetsAt - resetsAt)).toBeLessThan(TOLERANCE_MILLISECONDS);
      expect((await store().increment(key, 60)).count).toBe(1);
    });

    test('decrement does not open a window', async () => {
      const key = freshKey();
      await store().decrement(key);
      const { resetsAt } = await store().increment(key, 60, 0);
      expect(resetsAt).toBeLessThanOrEqual(Date.now());
    });
  });
}
