import { expect, test } from '@jest/globals';
import { operationsPortOf } from './variable-kinds.ts';

test.each([
  [9000, 9100],
  [65_435, 65_535],
  [65_436, 65_336],
  [0, 0],
])('an app on port %i has its operations port on %i', (port, expected) => {
  expect(operationsPortOf(port)).toBe(expected);
});
