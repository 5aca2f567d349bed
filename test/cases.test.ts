/** docs/cases.md defines every case id that code, tests and documents name, and lists its tests. */
import { describe, expect, test } from '@jest/globals';
import { casesDocument, namedCases, readCases, testsByCase, withTests } from './cases.ts';
import { readDocument, readDocuments } from './documents.ts';
import { readSourceTree, sourceFile } from './source-tree.ts';

const cases = readCases();
const files = readSourceTree().filter(({ path }) => !path.startsWith('test/cases.'));
const tests = testsByCase(files);

describe('docs/cases.md', () => {
  test('defines each case once, in one sentence or two', () => {
    const ids = cases.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(200);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(cases.filter(({ rule }) => !/^[`A-Z].{15,160}\.$/.test(rule))).toEqual([]);
  });

  test('defines every case that a file names', () => {
    const defined = new Set(cases.map(({ id }) => id));
    const undefinedCases = [...files, ...readDocuments()].flatMap(({ path, text }) =>
      [...namedCases(text)].filter((id) => !defined.has(id)).map((id) => `${path}: ${id}`),
    );
    expect(undefinedCases).toEqual([]);
  });

  test('lists the tests of each case, at least one; if not, run npm run update:cases', () => {
    const { text } = readDocument(casesDocument);
    expect(text.split('\n')).toEqual(withTests(text, tests).split('\n'));
    expect(cases.filter((each) => each.tests.length === 0)).toEqual([]);
  });
});

describe('the tests of a case', () => {
  const fileOf = (path: string, text: string) => sourceFile(path, text);

  test('are the tests that name it, not the code', () => {
    const found = testsByCase([
      fileOf('apps/a/src/b.ts', '// ZZ-01\n'),
      fileOf('apps/a/test/c.test.ts', "it('ZZ-01 ZZ-02 works', () => {});\n"),
    ]);
    expect([...found]).toEqual([
      ['ZZ-01', ['apps/a/test/c.test.ts']],
      ['ZZ-02', ['apps/a/test/c.test.ts']],
    ]);
  });

  test('replace those that the document lists', () => {
    const document = '| ZZ-01 | It works. | `gone.test.ts` |';
    expect(withTests(document, new Map([['ZZ-01', ['a.test.ts', 'b.test.ts']]]))).toBe(
      '| ZZ-01 | It works. | `a.test.ts`, `b.test.ts` |',
    );
  });
});
