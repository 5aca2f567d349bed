import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { NEVER_EXPIRES } from '../../src/store.ts';
import { type ContractSubject, TOLERANCE_MILLISECONDS } from './contract-subject.ts';

const revokes = { revokes: true } as const;

/** The tests that wait until something expires. They run concurrently, so that they wait once. */
export function describeLifetimesContract(subject: ContractSubject): void {
  const { store, freshKey } = subject;

  describe('lifetimes', () => {
    test.concurrent('the window starts with the first increment and does not slide', async () => {
      const key = freshKey();
      const first = await store().increment(key, 3);
      await sleep(2 * TOLERANCE_MILLISECONDS);
      const second = await store().increment(key, 3);
      expect(Math.abs(second.resetsAt - first.resetsAt)).toBeLessThan(TOLERANCE_MILLISECONDS);
      await sleep(2200);
      expect((await store().increment(key, 60, 0)).count).toBe(0);
      expect((await store().increment(key, 3)).count).toBe(1);
    });

    test.concurrent('a lifetime of one second is exact: every value exists before it and none after it', async () => {
      while (!(await checkLifetimeOfOneSecond(subject))) {}
    });

    test.concurrent('a replaced value keeps its lifetime', async () => {
      const key = freshKey();
      await store().set(key, 'first', 2);
      await sleep(1000);
      expect(await store().replace(key, 'first', 'second')).toBe(true);
      expect(await store().get(key)).toBe('second');
      await sleep(1200);
      expect(await store().get(key)).toBeUndefined();
      expect(await store().replace(key, 'second', 'never')).toBe(false);
    });

    test.concurrent('appending removes entries that are too old', async () => {
      const key = freshKey();
      await store().append(key, ['old'], 5);
      await sleep(1100);
      await store().append(key, ['kept'], 5);
      await store().append(key, ['newest'], 5, { maximumAgeSeconds: 1 });
      expect(await store().read(key, 5)).toEqual(['newest', 'kept']);
      await expect(store().append(key, ['never'], 5, { maximumAgeSeconds: 0 })).rejects.toThrow(
        RangeError,
      );
    });

    test.concurrent('a short-lived member that is added last does not remove longer-lived members', async () => {
      const [key, permanent] = [freshKey(), freshKey()];
      const now = Date.now();
      await store().addToIndex(key, 'long', now + 60_000);
      await store().addToIndex(key, 'short', now + 200);
      await store().addToIndex(permanent, 'forever', NEVER_EXPIRES);
      await store().addToIndex(permanent, 'short', now + 200);
      await sleep(500);
      expect(await store().members(key)).toEqual(['long']);
      expect(await store().members(permanent)).toEqual(['forever']);
    });

    test.concurrent('repeating a claim does not extend it', async () => {
      const key = freshKey();
      await store().claim(key, 'winner', 2);
      await store().claim(key, 'winner', 60);
      await sleep(2200);
      expect(await store().claim(key, 'next', 60)).toBe('next');
    });

    test.concurrent('writes that revoke let one of several callers win a claim until the claim expires', async () => {
      const key = freshKey();
      const owners = ['a', 'b', 'c', 'd'];
      const holders = await Promise.all(
        owners.map((owner) => store().claim(key, owner, 2, revokes)),
      );
      expect(new Set(holders).size).toBe(1);
      expect(await store().claim(key, 'ordinary', 60)).toBe(holders[0]);
      await sleep(2200);
      expect(await store().claim(key, 'next', 60, revokes)).toBe('next');
    });
  });
}

/** @returns whether the machine was fast enough to read everything before it expired */
async function checkLifetimeOfOneSecond({ store, freshKey }: ContractSubject): Promise<boolean> {
  const [value, claim, counter, index] = ['v', 'c', 'n', 'i'].map(freshKey) as [
    string,
    string,
    string,
    string,
  ];
  const started = performance.now();
  await Promise.all([
    store().set(value, 'value', 1),
    store().claim(claim, 'first', 1),
    store().increment(counter, 1),
    store().addToIndex(index, 'member', Date.now() + 1000),
  ]);

  await sleep(700);
  const replies = await Promise.all([
    store().get(value),
    store().claim(claim, 'second', 1),
    store().increment(counter, 1),
    store().members(index),
  ]);
  if (performance.now() - started > 950) {
    return false;
  }
  const [text, owner, { count }, members] = replies;
  expect([text, owner, count, members]).toEqual(['value', 'first', 2, ['member']]);

  await sleep(450);
  expect(await store().get(value)).toBeUndefined();
  expect(await store().claim(claim, 'second', 1)).toBe('second');
  expect((await store().increment(counter, 60, 0)).count).toBe(0);
  expect((await store().increment(counter, 1)).count).toBe(1);
  expect(await store().members(index)).toEqual([]);
  return true;
}
