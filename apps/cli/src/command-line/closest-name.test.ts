import { expect, test } from '@jest/globals';
import { closestName } from './closest-name.ts';

const names = ['clients add', 'clients list', 'users add', 'users list', 'audit tail'];

test.each([
  ['client list', 'clients list'],
  ['clients lst', 'clients list'],
  ['user ad', 'users add'],
  ['audits tail', 'audit tail'],
])('%s is probably %s', (entered, expected) => {
  expect(closestName(entered, names)).toBe(expected);
});

test.each(['', 'x', 'restart everything'])('%j resembles no name', (entered) => {
  expect(closestName(entered, names)).toBeUndefined();
});
