import { describe, expect, test } from '@jest/globals';
import type { ContractSubject } from './contract-subject.ts';

const texts: readonly (readonly [string, string])[] = [
  ['an empty text', ''],
  ['Chinese, emoji and combining characters', '设备 🛰️ é ﷽'],
  ['control characters and NUL', '\u0000a\u0001\u001f\u007f\r\n\t\u0000'],
  ['replies of the Redis protocol', '$-1\r\n*2\r\n+OK\r\n'],
  ['SQL', "'; DROP TABLE entries; --"],
  ['a number', '42'],
  ['JSON with a prototype', '{"__proto__":{"polluted":true}}'],
  ['one megabyte', 'x'.repeat(1024 * 1024)],
];

const keys: readonly (readonly [string, string])[] = [
  ['a glob', '*'],
  ['a newline', 'line\r\nbreak'],
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['a hash tag', '{a}{b}}{'],
  ['NUL', 'before\u0000after'],
  ['10 KB', 'k'.repeat(10 * 1024)],
  ['blanks', ' '],
  ['characters outside ASCII', '键🔑'],
];

export function describeTextContract({ store, freshKey }: ContractSubject): void {
  describe('texts', () => {
    test.each(texts)('%s is returned unchanged from every kind of key', async (_name, text) => {
      const [value, claim, index, log] = ['v', 'c', 'i', 'l'].map(freshKey) as [
        string,
        string,
        string,
        string,
      ];
      await store().set(value, text);
      expect((await store().get(value)) === text).toBe(true);
      await store().claim(claim, text);
      expect((await store().claim(claim, 'another')) === text).toBe(true);
      await store().addToIndex(index, text, Date.now() + 60_000);
      expect((await store().members(index))[0] === text).toBe(true);
      await store().append(log, [text], 5);
      expect((await store().read(log, 5))[0] === text).toBe(true);
    });

    test.each(keys)('a key with %s has no special meaning', async (_name, part) => {
      const prefix = freshKey();
      const key = `${prefix}${part}`;
      const neighbor = `${prefix}neighbor`;
      await store().set(neighbor, 'untouched');
      await store().set(key, 'value');
      expect(await store().get(key)).toBe('value');
      await store().delete([key]);
      expect(await store().get(key)).toBeUndefined();
      expect(await store().get(neighbor)).toBe('untouched');

      expect((await store().increment(key, 60)).count).toBe(1);
      await store().delete([key]);
      await store().addToIndex(key, 'member', Date.now() + 60_000);
      expect(await store().members(key)).toEqual(['member']);
      await store().delete([key]);
    });

    test('keys that differ only in case, or only after a NUL, are different', async () => {
      const key = freshKey();
      await store().set(`${key}A\u0000x`, 'one');
      await store().set(`${key}a\u0000x`, 'two');
      await store().set(`${key}a\u0000y`, 'three');
      expect(await store().get(`${key}A\u0000x`)).toBe('one');
      expect(await store().get(`${key}a\u0000x`)).toBe('two');
      expect(await store().get(`${key}a\u0000y`)).toBe('three');
    });
  });
}
