import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { root } from './source-tree.ts';

const longest = `Add ${'a'.repeat(68)}`;

describe('scripts/check-commit-subjects.ts', () => {
  let checkout: string;

  beforeEach(() => {
    checkout = mkdtempSync(join(tmpdir(), 'gatehouse-commits-'));
    copyScript(checkout);
  });

  afterEach(() => rmSync(checkout, { recursive: true, force: true }));

  test('accepts a subject of 72 characters', () => {
    git(checkout, 'init', '-q');
    commit(checkout, longest);
    expect(check(checkout).status).toBe(0);
  });

  test('rejects a subject of 73 characters, and names the commit', () => {
    git(checkout, 'init', '-q');
    commit(checkout, `${longest}A`);
    commit(checkout, 'Add a file');
    const { status, stderr } = check(checkout);
    expect(status).toBe(1);
    expect(stderr).toContain(git(checkout, 'rev-parse', '--short', 'HEAD~1').trim());
  });

  test('rejects a subject of one word, and names the commit', () => {
    git(checkout, 'init', '-q');
    commit(checkout, 'x');
    const { status, stderr } = check(checkout);
    expect(status).toBe(1);
    expect(stderr).toContain(git(checkout, 'rev-parse', '--short', 'HEAD').trim());
  });

  test('checks the commits that a shallow clone has', () => {
    const origin = join(checkout, 'origin');
    mkdirSync(origin);
    git(origin, 'init', '-q');
    commit(origin, 'Add a file');
    commit(origin, `${longest}A`);
    const clone = join(checkout, 'clone');
    git(checkout, 'clone', '-q', '--depth', '1', `file://${origin}`, clone);
    copyScript(clone);
    expect(check(clone).status).toBe(1);
  });

  test('has nothing to check in a tarball, even inside another repository', () => {
    git(checkout, 'init', '-q');
    commit(checkout, `${longest}A`);
    const unpacked = join(checkout, 'unpacked');
    copyScript(unpacked);
    const { status, stdout } = check(unpacked);
    expect(stdout).toBe('No git history: commit subjects are not checked.\n');
    expect(status).toBe(0);
  });
});

function copyScript(checkout: string): void {
  const script = 'scripts/check-commit-subjects.ts';
  cpSync(join(root, script), join(checkout, script));
}

function check(checkout: string) {
  const script = join(checkout, 'scripts/check-commit-subjects.ts');
  return spawnSync(process.execPath, [script], { encoding: 'utf8' });
}

function commit(directory: string, subject: string): void {
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
  git(directory, ...author, 'commit', '-q', '--allow-empty', '-m', subject);
}

function git(directory: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: directory, encoding: 'utf8' });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  return stdout;
}
