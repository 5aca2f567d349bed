import { describe, expect, test } from '@jest/globals';
import { NEVER_EXPIRES } from '../../src/store.ts';
import type { ContractSubject } from './contract-subject.ts';

export function describeCollectionsContract({ store, freshKey }: ContractSubject): void {
  describe('indexes', () => {
    test('members are ordered by expiry, earliest first', async () => {
      const key = freshKey();
      const now = Date.now();
      await store().addToIndex(key, 'forever', NEVER_EXPIRES);
      await store().addToIndex(key, 'late', now + 90_000);
      await store().addToIndex(key, 'soon', now + 30_000);
      await store().addToIndex(key, 'middle', now + 60_000);
      expect(await store().members(key)).toEqual(['soon', 'middle', 'late', 'forever']);
    });

    test('adding a member again replaces its expiry, later or earlier', async () => {
      const key = freshKey();
      const now = Date.now();
      await store().addToIndex(key, 'a', now + 30_000);
      await store().addToIndex(key, 'b', now + 60_000);
      await store().addToIndex(key, 'a', now + 90_000);
      expect(await store().members(key)).toEqual(['b', 'a']);
      await store().addToIndex(key, 'a', now - 1);
      expect(await store().members(key)).toEqual(['b']);
    });

    test('removing a member leaves the others, and ignores unknown members', async () => {
      const key = freshKey();
      const expiresAt = Date.now() + 60_000;
      await store().addToIndex(key, 'a', expiresAt);
      await store().addToIndex(key, 'b', expiresAt);
      await store().removeFromIndex(key, 'a');
      await store().removeFromIndex(key, 'unknown');
      await store().removeFromIndex(freshKey(), 'a');
      expect(await store().members(key)).toEqual(['b']);
    });

    test('members that have not expired are never evicted, even if there are many', async () => {
      const key = freshKey();
      const now = Date.now();
      const members = Array.from({ length: 1000 }, (_, number) => `member-${number}`);
      await Promise.all(
        members.map((member, number) => store().addToIndex(key, member, now + 60_000 + number)),
      );
      expect(await store().members(key)).toEqual(members);
    });

    test('members with a prefix are in the order of their bytes, and are read in pages', async () => {
      const key = freshKey();
      // U+10FFFF has the greatest bytes of all texts. In UTF-16, U+FF5E would follow it.
      const members = ['', 'a', 'a\nb', 'ab', 'aé', 'a～', 'a\u{1f511}', 'a\u{10ffff}b', 'b', 'ｚ'];
      for (const member of members.toReversed()) {
        await store().addToIndex(key, member, NEVER_EXPIRES);
      }
      await store().addToIndex(`${key}-other`, 'ac', NEVER_EXPIRES);
      const read = (prefix: string, limit: number, after?: string) =>
        store().membersWithPrefix(key, prefix, limit, after);
      expect(await read('', 100)).toEqual(members);
      expect(await read('a', 100)).toEqual(members.slice(1, 8));
      expect(await read('a', 2)).toEqual(['a', 'a\nb']);
      expect(await read('a', 2, 'a\nb')).toEqual(['ab', 'aé']);
      expect(await read('a', 9, 'a\u{1f511}')).toEqual(['a\u{10ffff}b']);
      expect(await read('a', 1, 'A')).toEqual(['a']);
      expect(await read('a', 1, 'not a member')).toEqual([]);
      expect(await read('a', 9, 'b')).toEqual([]);
      expect(await read('', 2, '')).toEqual(['a', 'a\nb']);
      expect(await read('x', 9)).toEqual([]);
      expect(await store().membersWithPrefix(freshKey(), '', 9)).toEqual([]);
      await expect(read('', 0)).rejects.toThrow(RangeError);
    });

    test('an expiry that is not an integer is rejected', async () => {
      await expect(store().addToIndex(freshKey(), 'member', Number.NaN)).rejects.toThrow(
        RangeError,
      );
    });
  });

  describe('logs', () => {
    test('read returns the newest entries, newest first', async () => {
      const key = freshKey();
      for (const entry of ['one', 'two', 'three']) {
        await store().append(key, [entry], 10);
      }
      expect(await store().read(key, 10)).toEqual(['three', 'two', 'one']);
      expect(await store().read(key, 2)).toEqual(['three', 'two']);
      expect(await store().read(freshKey(), 10)).toEqual([]);
    });

    test.each([
      ['an ordinary write', {}],
      ['a revocation', { revokes: true }],
    ])('a log keeps its newest entries, and affects no other log: %s', async (_name, options) => {
      const [key, other] = [freshKey(), freshKey()];
      await store().append(other, ['untouched'], 1);
      for (let number = 1; number <= 20; number += 1) {
        await store().append(key, [`entry-${number}`], 5, options);
      }
      const newest = [20, 19, 18, 17, 16].map((number) => `entry-${number}`);
      expect(await store().read(key, 100)).toEqual(newest);
      expect(await store().read(other, 100)).toEqual(['untouched']);
    });

    test('an equal entry is moved, not added', async () => {
      const key = freshKey();
      for (const entry of ['same', 'other', 'same']) {
        await store().append(key, [entry], 5);
      }
      expect(await store().read(key, 5)).toEqual(['same', 'other']);
    });

    test('an entry that replaces another becomes the newest and uses its space', async () => {
      const [key, other] = [freshKey(), freshKey()];
      await store().append(other, ['one'], 3);
      for (const entry of ['one', 'two', 'three']) {
        await store().append(key, [entry], 3);
      }
      await store().append(key, ['one, again'], 3, { replaces: 'one' });
      expect(await store().read(key, 5)).toEqual(['one, again', 'three', 'two']);
      await store().append(key, ['four'], 3, { replaces: 'not there' });
      expect(await store().read(key, 5)).toEqual(['four', 'one, again', 'three']);
      expect(await store().read(other, 5)).toEqual(['one']);
    });

    test('nothing can replace an entry, which removes it', async () => {
      const key = freshKey();
      await store().append(key, ['one', 'two'], 3);
      await store().append(key, [], 3, { replaces: 'one' });
      expect(await store().read(key, 5)).toEqual(['two']);
    });

    test('several entries are appended in order, within the capacity', async () => {
      const key = freshKey();
      await store().append(key, ['first'], 4);
      await store().append(key, ['one', 'two', 'three'], 4);
      expect(await store().read(key, 9)).toEqual(['three', 'two', 'one', 'first']);
      await store().append(key, ['four', 'one', 'five'], 4);
      expect(await store().read(key, 9)).toEqual(['five', 'one', 'four', 'three']);
      await store().append(key, [], 4);
      expect(await store().read(key, 9)).toHaveLength(4);
    });

    test.each([0, -1, 1.5])('a capacity or limit of %p is rejected', async (size) => {
      await expect(store().append(freshKey(), ['entry'], size)).rejects.toThrow(RangeError);
      await expect(store().append(freshKey(), ['entry'], size)).rejects.toThrow(RangeError);
      await expect(store().read(freshKey(), size)).rejects.toThrow(RangeError);
    });
  });
}
