/** docs/conformance.md claims a pass only for modules that have a test. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { root } from './source-tree.ts';

const source = readFileSync(
  join(root, 'apps/authorization-server/test/conformance.slow.test.ts'),
  'utf8',
);
const document = readFileSync(join(root, 'docs/conformance.md'), 'utf8');
const rows = [...document.matchAll(/^\| `(oidcc-[\w-]+)` \| ([a-z ]+) \|(.*)\|$/gm)].map(
  ([, module = '', result, note]) => ({ module, result, note }),
);
const tested = [...source.matchAll(/'(oidcc-[\w-]+)'/g)]
  .map(([, name = '']) => name)
  .filter((name) => !name.endsWith('-test-plan'));

test('every module that docs/conformance.md names as passing has a test', () => {
  const passing = rows.filter(({ result }) => result === 'pass').map(({ module }) => module);
  expect(passing).not.toHaveLength(0);
  expect(passing.filter((module) => !tested.includes(module))).toEqual([]);
});

test('every module with a test is named as passing, and the others have a reason', () => {
  const isPassing = (name: string) =>
    rows.some(({ module, result }) => module === name && result === 'pass');
  expect(tested.filter((name) => !isPassing(name))).toEqual([]);
  expect(rows.filter(({ result, note }) => result !== 'pass' && note?.trim() === '')).toEqual([]);
});
