import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadMasterKey } from '@gatehouse/identity';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

const root = temporaryFolder();

test.each([
  ['create', '32k', /The backup failed, and nothing was saved: .*full/],
  ['restore', '32k', /The restore failed, and nothing was changed: .*ENOSPC/],
])('a %s onto a full disk fails with the reason and leaves nothing', async (name, size, reason) => {
  const folder = join(root, name);
  const [data, backup] = [join(folder, 'data'), join(folder, 'backup')];
  const small = join(folder, 'small');
  mkdirSync(data, { recursive: true });
  mkdirSync(small);
  loadMasterKey(join(data, 'master.key'), true);
  await runGatehouse({ DATA_DIR: data }, ['organizations', 'add', 'org-1']);
  await runGatehouse({ DATA_DIR: data }, ['backup', 'create', backup]);
  const commands = `
    mount -t tmpfs -o size=${size} tmpfs "$1/small"
    cp "$1/data/master.key" "$1/small/"
    [ ${name} = create ] && from="$1/data" to="$1/small/backup" || from="$1/small" to="$1/backup"
    DATA_DIR="$from" "$2" "$3" backup ${name} "$to" 2>&1 || true
    ls "$1/small"`;
  const main = join(import.meta.dirname, '../src/main.ts');
  const parameters = ['--mount', 'sh', '-ec', commands, 'sh', folder, process.execPath, main];
  const { stdout } = await promisify(execFile)('/usr/bin/unshare', parameters);
  expect(stdout).toMatch(reason);
  expect(stdout.trim().split('\n').at(-1)).toBe('master.key');
});
