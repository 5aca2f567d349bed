import { expect, test } from '@jest/globals';
import { readRandomInputs } from './random-input.ts';

test('the parsers survive 50,000 random inputs, each within 50 ms', () => {
  expect(readRandomInputs(50_000, 1)).toBeLessThan(50);
});
