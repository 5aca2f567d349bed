/** The apps derive misspelled names (CF-07) from the variables that they read. */
import { findMisspeltVariables, knownVariables } from '@gatehouse/configuration';
import { expect, it } from '@jest/globals';
import { variablesOfApps, variablesOfContainers, variablesOfScripts } from './read-variables.ts';

it('CF-07 every variable that an app reads is known to all apps, and no other', async () => {
  const read = new Set(await variablesOfApps());
  // Node's own, of which the apps look at one.
  read.delete('NODE_OPTIONS');
  expect([...knownVariables].sort()).toEqual([...read].sort());
});

it('CF-07 no variable of the scripts and containers looks misspelled', () => {
  const names = [...variablesOfScripts(), ...variablesOfContainers(), 'NODE_OPTIONS'];
  expect(names).toContain('GATEHOUSE_IMAGE');
  expect(findMisspeltVariables(Object.fromEntries(names.map((name) => [name, 'set'])))).toEqual([]);
});
