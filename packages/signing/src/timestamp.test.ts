import { describe, expect, test } from '@jest/globals';
import { isTimely, parseTimestamp } from './signature.ts';

describe('parseTimestamp', () => {
  test('reads 13 digits as epoch milliseconds', () => {
    expect(parseTimestamp('1574993804802')).toBe(1_574_993_804_802);
  });

  test.each(['01574993804802', '574993804802'])(
    'rejects %p, whose first digit could belong to the signed text',
    (text) => {
      expect(parseTimestamp(text)).toBeUndefined();
    },
  );

  test.each([
    '',
    'abc',
    '-1',
    '1.5e12',
    '+1574993804802',
    '0x16eb9e5b5c2',
    '1574993804',
    '1574993804802000',
    '１５７４９９３８０４８０２',
    'Infinity',
    ' 1574993804802',
    '1574993804802 ',
    '1574993804802\n',
    '0574993804802',
  ])('rejects %p', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});

describe('isTimely', () => {
  const now = 1_574_993_804_802;

  test('accepts 299.9 s in either direction and rejects 300.1 s', () => {
    expect(isTimely(now - 299_900, now)).toBe(true);
    expect(isTimely(now + 299_900, now)).toBe(true);
    expect(isTimely(now - 300_100, now)).toBe(false);
    expect(isTimely(now + 300_100, now)).toBe(false);
  });

  test('accepts exactly the tolerance, but not a millisecond more', () => {
    expect([999, 1000, 1001].map((offset) => isTimely(now + offset, now, 1000))).toEqual([
      true,
      true,
      false,
    ]);
  });
});
