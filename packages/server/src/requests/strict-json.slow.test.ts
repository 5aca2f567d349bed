import { expect, test } from '@jest/globals';
import { parseStrictJson } from './strict-json.ts';

// runs alone: it compares times

test('takes time in proportion to names, strings and brackets', () => {
  const milliseconds = (count: number) => {
    const names = `{${Array.from({ length: count }, (_, i) => `"k${i}":1`).join(',')}}`;
    const brackets = '['.repeat(6 * count) + ']'.repeat(6 * count);
    const escapes = `"${'\\"'.repeat(6 * count)}"`;
    const started = performance.now();
    parseStrictJson(names);
    expect(() => parseStrictJson(brackets)).toThrow('deeper');
    parseStrictJson(escapes);
    return performance.now() - started;
  };
  const least = (count: number) =>
    Math.min(...Array.from({ length: 5 }, () => milliseconds(count)));
  least(1000);

  // 16 times as much input. In quadratic time, the ratio would be 256.
  expect(least(80_000) / least(5000)).toBeLessThan(80);
});
