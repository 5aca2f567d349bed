import { describe, expect, test } from '@jest/globals';
import type { ContractSubject } from './contract-subject.ts';

/**
 * Covers engines with free space, where these are ordinary writes. Each engine has its own tests
 * for a full store.
 */
export function describeRevokingWritesContract({ store, freshKey }: ContractSubject): void {
  const revokes = { revokes: true } as const;

  describe('writes that revoke', () => {
    test('append to a capped log', async () => {
      const key = freshKey();
      for (const entry of ['one', 'two', 'three']) {
        await store().append(key, [entry], 2, revokes);
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
