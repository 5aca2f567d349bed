import { expect, test } from '@jest/globals';
import { newlineTexts } from './newline-texts.ts';
import { MAXIMUM_SPELLED_LENGTH } from './work-limit.ts';

test('the last line endings are removed, and no others', () => {
  const texts = newlineTexts('a\n\r\nb\r\n\n').map(({ text }) => text);
  expect(texts[0]).toBe('a\n\r\nb');
});

test('a long text has no other line endings', () => {
  expect(newlineTexts('\n'.repeat(MAXIMUM_SPELLED_LENGTH + 1))).toEqual([]);
});
