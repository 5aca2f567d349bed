import { describe, expect, test } from '@jest/globals';
import { type Suite, selectFiles } from './select-files.ts';

const files = [
  'test/compose/backup.test.ts',
  'test/compose/start.test.ts',
  'test/start.test.ts',
  'apps/gateway/test/timing.slow.test.ts',
  'test/lifecycle.slow.test.ts',
];
const compose = { folder: 'test/compose', suffix: '.test.ts' };
const slow = { folder: '', suffix: '.slow.test.ts' };

function selected(suite: Suite, args: readonly string[]): readonly string[] {
  const { patterns } = selectFiles(suite, args);
  return files.filter((file) => patterns.some((pattern) => new RegExp(pattern).test(`/${file}`)));
}

describe('selectFiles', () => {
  test('selects the whole suite without a name', () => {
    expect(selected(compose, [])).toEqual([
      'test/compose/backup.test.ts',
      'test/compose/start.test.ts',
    ]);
    expect(selected(slow, ['--verbose'])).toEqual([
      'apps/gateway/test/timing.slow.test.ts',
      'test/lifecycle.slow.test.ts',
    ]);
  });

  test.each([
    'start',
    'start.test.ts',
    'test/compose/start.test.ts',
    './test/compose/start.test.ts',
  ])('selects only the file that %s names', (name) => {
    expect(selected(compose, [name])).toEqual(['test/compose/start.test.ts']);
  });

  test('selects files by a part of their path', () => {
    expect(selected(slow, ['apps/gateway'])).toEqual(['apps/gateway/test/timing.slow.test.ts']);
    expect(selected(slow, ['test/lifecycle.slow.test.ts'])).toEqual([
      'test/lifecycle.slow.test.ts',
    ]);
  });

  test('selects nothing outside the suite', () => {
    expect(selected(compose, ['test/lifecycle'])).toEqual([]);
  });

  test('passes everything after the first option to Jest', () => {
    expect(selectFiles(compose, ['start', '-t', 'a name']).options).toEqual(['-t', 'a name']);
  });
});
