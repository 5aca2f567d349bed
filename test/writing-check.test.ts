/** The checks of words in `npm run check:static` must fail if a text breaks the rules. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { root } from './source-tree.ts';

type Sample = [where: string, name: string, text: string];

const rejected: Sample[] = [
  ['a document', 'document.md', 'The store is\naway.\n'],
  ['a comment of several lines', 'block.ts', '/** The store is\n * away. */\n'],
  ['line comments', 'lines.ts', '// The store is\n// away.\n'],
  ['a test title', 'title.ts', "it('ends when the store is away', () => {});\n"],
  ['a message', 'message.ts', `const a = \`The \${store} is away.\`;\n`],
];
const allowed: Sample[] = [
  ['code', 'code.ts', 'const is = away(1);\n'],
  ['a single word', 'word.ts', "const state = 'away';\n"],
  ['a part of a word', 'part.ts', '// The answer is a way.\n'],
];

describe('the check of terms', () => {
  const findings = checkTerms([...rejected, ...allowed]);

  test('fails if one of several files breaks the rules', () => {
    expect(findings.status).toBe(1);
  });

  test.each(rejected)('rejects a term in %s', (_where, name) => {
    expect(findings.stderr).toMatch(new RegExp(`/${name}:1:.*\\n?.*is unavailable`));
  });

  test.each(allowed)('does not look for terms in %s', (_where, name) => {
    expect(findings.stderr).not.toContain(name);
  });

  test('succeeds if no file breaks the rules', () => {
    expect(checkTerms(allowed)).toMatchObject({ status: 0, stderr: '' });
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

/** Checks all files with one process, because each process takes a second to start. */
function checkTerms(files: readonly Sample[]) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-writing-'));
  try {
    const paths = files.map(([, name, text]) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    });
    return run(['scripts/check-writing.ts', ...paths]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function checkSpelling(text: string) {
  return run(['node_modules/cspell/bin.mjs', 'lint', '--no-progress', 'stdin://a.ts'], text);
}

function run(command: readonly string[], input = '') {
  return spawnSync(process.execPath, command, { cwd: root, encoding: 'utf8', input });
}
