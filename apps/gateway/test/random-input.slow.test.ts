import { expect, test } from '@jest/globals';
import { readRandomInputs } from './random-input.ts';

test('the parsers survive 1,000,000 random inputs, each within 50 ms', () => {
  expect(readRandomInputs(1_000_000, 2)).toBeLessThan(50);
}, 300_000);
