import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { ContractSubject } from './contract-subject.ts';

/**
 * Covers engines with free space, where these are ordinary writes. Each engine has its own tests
 * for a full store.
 */
export function describeRevokingWritesContract({ store, freshKey }: ContractSubject): void {
  const revokes = { revokes: true } as const;

  describe('writes that revoke', () => {
    test('replace a value, and keep a value without a lifetime', async () => {
      const key = freshKey();
      await store().set(key, 'first', 0.2);
      await store().set(key, '', undefined, revokes);
      await sleep(300);
      expect(await store().get(key)).toBe('');
    });

    test('expire at their lifetime', async () => {
      const key = freshKey();
      await store().set(key, 'value', 0.2, revokes);
      expect(await store().get(key)).toBe('value');
      await sleep(300);
      expect(await store().get(key)).toBeUndefined();
    });

    test('let one of several callers win a claim until the claim expires', async () => {
      const key = freshKey();
      const owners = ['a', 'b', 'c', 'd'];
      const holders = await Promise.all(
        owners.map((owner) => store().claim(key, owner, 0.3, revokes)),
      );
      expect(new Set(holders).size).toBe(1);
      expect(await store().claim(key, 'ordinary', 60)).toBe(holders[0]);
      await sleep(400);
      expect(await store().claim(key, 'next', 60, revokes)).toBe('next');
    });

    test('append to a capped log', async () => {
      const key = freshKey();
      for (const entry of ['one', 'two', 'three']) {
        await store().append(key, entry, 2, revokes);
      }
      expect(await store().read(key, 5)).toEqual(['three', 'two']);
    });

    test.each([0, -1])('have a positive lifetime or none, not %p', async (ttlSeconds) => {
      await expect(store().set(freshKey(), 'value', ttlSeconds, revokes)).rejects.toThrow(
        RangeError,
      );
      await expect(store().claim(freshKey(), 'owner', ttlSeconds, revokes)).rejects.toThrow(
        RangeError,
      );
    });
  });
}
