import { describe, expect, test } from '@jest/globals';
import type { ContractSubject } from './contract-subject.ts';

export function describeValuesContract({ store, freshKey }: ContractSubject): void {
  describe('values', () => {
    test('get returns the value that set wrote, or undefined', async () => {
      const key = freshKey();
      expect(await store().get(key)).toBeUndefined();
      await store().set(key, 'first');
      expect(await store().get(key)).toBe('first');
      await store().set(key, 'second', 60);
      expect(await store().get(key)).toBe('second');
    });

    test('replace writes only over the expected value, and tells whether it did', async () => {
      const key = freshKey();
      expect(await store().replace(key, '', 'never')).toBe(false);
      expect(await store().get(key)).toBeUndefined();
      await store().set(key, 'first');
      expect(await store().replace(key, 'other', 'never')).toBe(false);
      expect(await store().replace(key, 'first', 'second')).toBe(true);
      expect(await store().get(key)).toBe('second');
    });

    test('of several concurrent replacements of a value, one succeeds', async () => {
      const key = freshKey();
      await store().set(key, 'first');
      const values = Array.from({ length: 20 }, (_value, i) => `replacement-${i}`);
      const outcomes = await Promise.all(
        values.map((value) => store().replace(key, 'first', value)),
      );
      expect(outcomes.filter(Boolean)).toHaveLength(1);
      expect(await store().get(key)).toBe(values[outcomes.indexOf(true)]);
    });

    test('delete removes keys of every kind and ignores unknown keys', async () => {
      const [value, claim, counter, index, log] = ['v', 'c', 'n', 'i', 'l'].map(freshKey) as [
        string,
        string,
        string,
        string,
        string,
      ];
      await store().set(value, 'value');
      await store().claim(claim, 'owner');
      await store().increment(counter, 60);
      await store().addToIndex(index, 'member', Date.now() + 60_000);
      await store().append(log, ['entry'], 5);

      await store().delete([value, claim, counter, index, log, freshKey()]);

      expect(await store().get(value)).toBeUndefined();
      expect(await store().claim(claim, 'another')).toBe('another');
      expect((await store().increment(counter, 60, 0)).count).toBe(0);
      expect(await store().members(index)).toEqual([]);
      expect(await store().read(log, 5)).toEqual([]);
    });

    test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
      'a lifetime of %p is rejected, because every caller would win a claim that expires immediately',
      async (ttlSeconds) => {
        for (const options of [{}, { revokes: true }]) {
          const set = store().set(freshKey(), 'value', ttlSeconds, options);
          await expect(set).rejects.toThrow(RangeError);
          const claim = store().claim(freshKey(), 'owner', ttlSeconds, options);
          await expect(claim).rejects.toThrow(RangeError);
        }
        await expect(store().increment(freshKey(), ttlSeconds)).rejects.toThrow(RangeError);
      },
    );
  });

  describe('claims', () => {
    test('one of 50 concurrent callers wins, and all get its name', async () => {
      const key = freshKey();
      const owners = Array.from({ length: 50 }, (_, number) => `owner-${number}`);
      const holders = await Promise.all(owners.map((owner) => store().claim(key, owner, 60)));
      expect(new Set(holders).size).toBe(1);
      expect(holders.filter((holder, number) => holder === owners[number])).toHaveLength(1);
    });

    test('a winner that repeats its claim gets its own name, and others get the winner', async () => {
      const key = freshKey();
      expect(await store().claim(key, 'winner', 60)).toBe('winner');
      expect(await store().claim(key, 'winner', 60)).toBe('winner');
      expect(await store().claim(key, 'loser', 60)).toBe('winner');
      expect(await store().get(key)).toBe('winner');
    });

    test('concurrent claims of different keys do not affect each other', async () => {
      const [taken, free, another] = ['t', 'f', 'a'].map(freshKey) as [string, string, string];
      await store().claim(taken, 'former', 60);
      const claims = [
        store().claim(free, 'owner'),
        store().claim(taken, 'owner', 60),
        store().claim(another, 'owner', 60),
        store().claim(free, 'loser', 60),
      ];
      expect(await Promise.all(claims)).toEqual(['owner', 'former', 'owner', 'owner']);
    });
  });
}
