/** The checks of words in `npm run check:static` must fail if a text breaks the rules. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { root } from './source-tree.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-writing-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the check of terms', () => {
  test.each([
    ['a document', 'a.md', 'The store is\naway.\n'],
    ['a comment of several lines', 'a.ts', '/** The store is\n * away. */\n'],
    ['line comments', 'a.ts', '// The store is\n// away.\n'],
    ['a test title', 'a.ts', "it('ends when the store is away', () => {});\n"],
    ['a message', 'a.ts', `const a = \`The \${store} is away.\`;\n`],
  ])('rejects a term in %s', (_where, name, text) => {
    const { status, stderr } = checkTerms(name, text);
    expect(stderr).toContain('is unavailable');
    expect(status).toBe(1);
  });

  test.each([
    ['code', 'const is = away(1);\n'],
    ['a single word', "const state = 'away';\n"],
    ['a part of a word', '// The answer is a way.\n'],
  ])('does not look for terms in %s', (_where, text) => {
    expect(checkTerms('a.ts', text)).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('the check of spelling', () => {
  test('rejects mistakes, British spelling and rejected words, also in names', () => {
    const { status, stdout } = checkSpelling(`
      // It authorizes the organization, wich is a mistake.
      const organisationId = 1;
      const startAnew = 1;
    `);
    const found = [...stdout.matchAll(/ word \((\w+)\)/g)].map(([, word]) => word);
    expect(found).toEqual(['wich', 'organisation', 'Anew']);
    expect(status).toBe(1);
  });
});

function checkTerms(name: string, text: string) {
  const file = join(folder, name);
  writeFileSync(file, text);
  return run(['scripts/check-writing.ts', file]);
}

function checkSpelling(text: string) {
  return run(['node_modules/cspell/bin.mjs', 'lint', '--no-progress', 'stdin://a.ts'], text);
}

function run(command: readonly string[], input = '') {
  return spawnSync(process.execPath, command, { cwd: root, encoding: 'utf8', input });
}
