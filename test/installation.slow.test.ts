import { spawnSync } from 'node:child_process';
import { cpSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { root } from './source-tree.ts';

const clone = temporaryFolder();
const manifests = globSync('{.,apps/*,packages/*}/package.json', { cwd: root });
for (const file of [...manifests, 'package-lock.json', 'scripts/launch.mjs']) {
  cpSync(join(root, file), join(clone, file));
}

/** Starts a program in a clone without dependencies, and lets npm list what it would install. */
function packagesFor(program: string): string {
  const { stderr } = spawnSync(process.execPath, ['scripts/launch.mjs', program], {
    cwd: clone,
    env: { ...process.env, NODE_ENV: '', npm_config_dry_run: 'true' },
    encoding: 'utf8',
  });
  return stderr;
}

describe('after a clone, with a Node that is new enough', () => {
  test('npm start installs neither another Node nor the tools of tests', () => {
    const packages = packagesFor('scripts/start.ts');
    expect(packages).toContain('add express ');
    expect(packages).not.toMatch(/^add (node|jest|@biomejs\/biome) /m);
  });

  test('npm test and npm run check:static install the tools for this platform', () => {
    const packages = packagesFor('scripts/test.ts');
    for (const tool of ['@biomejs/cli-', '@swc/core-', '@typescript/typescript-']) {
      expect(packages).toContain(`add ${tool}${process.platform}-${process.arch}`);
    }
  });
});
