import { expect, test } from '@jest/globals';
import { editDistance } from './edit-distance.ts';

test.each([
  ['', '', 0],
  ['', 'abc', 3],
  ['same', 'same', 0],
  ['profile', 'profle', 1],
  ['profile', 'proffile', 1],
  ['profile', 'profike', 1],
  ['profile', 'porfile', 1],
  ['profile', 'profiel', 1],
  ['port', 'host', 2],
  ['kitten', 'sitting', 3],
  // No letter is touched twice: unrestricted, a swap with an insertion between it would be 2.
  ['ca', 'abc', 3],
])('%j and %j are %d mistakes apart, either way', (a, b, mistakes) => {
  expect([editDistance(a, b), editDistance(b, a)]).toEqual([mistakes, mistakes]);
});

test.each([
  ['profile', 'porfiel', 2],
  ['security', 'xyz', 8],
  ['ab', 'ba', 1],
  ['kitten', 'sitting', 3],
])('%j and %j: up to the limit it is exact, beyond it only more', (a, b, mistakes) => {
  for (let most = 0; most <= 9; most++) {
    const told = editDistance(a, b, most);
    expect(mistakes <= most ? told === mistakes : told > most).toBe(true);
  }
});
