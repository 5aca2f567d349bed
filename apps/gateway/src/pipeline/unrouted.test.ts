import { expect, test } from '@jest/globals';
import { allowedMethods } from './unrouted.ts';

test('Every path accepts the methods of its routes and OPTIONS.', () => {
  expect(allowedMethods(['GET', 'POST'])).toBe('GET, POST, OPTIONS');
});
