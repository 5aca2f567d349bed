/** The apps derive misspelled names from the variables that they read. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMisspelledVariables, knownVariables } from '@gatehouse/server/configuration';
import { expect, test } from '@jest/globals';
import { loadConfiguration as loadAuthorizationServer } from '../apps/authorization-server/src/config.ts';
import { readConfiguration as loadDeviceService } from '../apps/device-service/src/config.ts';
import { loadConfiguration as loadGateway } from '../apps/gateway/src/config.ts';
import { variablesOfApps, variablesOfContainers, variablesOfScripts } from './read-variables.ts';
import { root } from './source-tree.ts';

test('the list of known variables contains exactly the variables that apps read', async () => {
  const read = new Set(await variablesOfApps());
  // The apps read this variable of Node.
  read.delete('NODE_OPTIONS');
  expect([...knownVariables].sort()).toEqual([...read].sort());
});

test('.env.example names every variable of the apps, and no unknown one', () => {
  const text = readFileSync(join(root, '.env.example'), 'utf8');
  const names = [...text.matchAll(/^# ([A-Z][A-Z0-9_]+)=/gm)].map(([, name = '']) => name);
  const others = [...variablesOfScripts(), ...variablesOfContainers(), 'NODE_OPTIONS'];
  expect(names).toEqual(expect.arrayContaining([...knownVariables]));
  expect(names.filter((name) => ![...knownVariables, ...others].includes(name))).toEqual([]);
});

test('no variable of the scripts and containers looks misspelled', () => {
  const names = [...variablesOfScripts(), ...variablesOfContainers(), 'NODE_OPTIONS'];
  expect(names).toContain('GATEHOUSE_IMAGE');
  const environment = Object.fromEntries(names.map((name) => [name, 'set']));
  expect(findMisspelledVariables(environment)).toEqual({ problems: [], warnings: [] });
});

test.each([
  ['authorization server', loadAuthorizationServer],
  ['gateway', loadGateway],
  ['device service', loadDeviceService],
])('the %s starts with a misspelled variable that protects nothing, and warns', (_app, load) => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-warnings-'));
  try {
    const { warnings } = load({ DATA_DIR: directory, LOG_LEVL: 'canary' });
    expect(warnings).toEqual([
      'LOG_LEVL: looks like a misspelling of LOG_LEVEL. Rename it or unset it',
    ]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
