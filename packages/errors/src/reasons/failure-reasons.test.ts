import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { authorizationServerReasons } from './authorization-server-reasons.ts';
import { failureReasons } from './failure-reasons.ts';

/** Files that only combine others. */
const collections = new Set([
  'authorization-server-reasons.ts',
  'failure-reasons.ts',
  'signing-reasons.ts',
]);
const folder = dirname(fileURLToPath(import.meta.url));

test('No two files define a reason with the same name.', async () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('-reasons.ts') && !collections.has(name),
  );
  const names: string[] = [];
  for (const file of files) {
    for (const reasons of Object.values(await import(join(folder, file)))) {
      names.push(...Object.keys(reasons as object));
    }
  }
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  expect(names.sort()).toEqual(Object.keys(failureReasons).sort());
});

test('Every text of the authorization server fits into error_description (RFC 6749 §5.2).', () => {
  for (const [name, { cause, fix }] of Object.entries(authorizationServerReasons)) {
    expect([name, `${cause} ${fix}`]).toEqual([
      name,
      expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+[.:]$/),
    ]);
  }
});
