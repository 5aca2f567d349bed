// runs alone: it compares times
import { expect, test } from '@jest/globals';
import { newlineTexts } from './newline-texts.ts';
import { MAXIMUM_SPELLED_LENGTH } from './work-limit.ts';

/** The shortest of several runs, because a busy machine delays some. */
function millisecondsFor(text: string): number {
  const runs = Array.from({ length: 5 }, () => {
    const start = performance.now();
    newlineTexts(text);
    return performance.now() - start;
  });
  return Math.min(...runs);
}

test('many line endings in the middle take the time of as many letters', () => {
  const length = MAXIMUM_SPELLED_LENGTH - 1;
  const ofLetters = Math.max(millisecondsFor('a'.repeat(length)), 0.05);
  expect(millisecondsFor(`${'\n'.repeat(length)}a`) / ofLetters).toBeLessThan(100);
});
