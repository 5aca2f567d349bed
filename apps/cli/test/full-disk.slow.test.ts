import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadMasterKey } from '@gatehouse/identity';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

const worker = join(import.meta.dirname, 'full-disk-worker.ts');
const apps = ['authorization-server', 'gateway'];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-full-disk-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('valid tokens and every revocation work while the disk of a SQLite store is full', async () => {
  const commands = 'mount -t tmpfs -o size=64m tmpfs "$1"; exec "$2" "$3" "$1"';
  const parameters = ['--mount', 'sh', '-ec', commands, 'sh', folder, process.execPath, worker];
  const { stdout } = await promisify(execFile)('/usr/bin/unshare', parameters);
  const { before, full, recovered, log } = JSON.parse(stdout);

  expect(before).toEqual([200, 200, 200]);
  expect(full).toEqual({
    readiness: ['200 full', '200 full'],
    live: 200,
    revoke: 200,
    afterRevoke: 401,
    disable: '0',
    afterDisable: 401,
    stillLive: 200,
    all: '0',
    afterAll: 401,
  });
  expect(recovered).toBe(200);
  for (const app of apps) {
    const reason = expect.stringMatching(/^Less than 8 MiB are free/);
    expect(log).toContainEqual({ app, msg: 'store full', reason });
    expect(log).toContainEqual({ app, msg: 'store available' });
  }
});

test.each([
  ['create', '32k', /The backup failed, and nothing was saved: .*full/],
  ['restore', '32k', /The restore failed, and nothing was changed: .*ENOSPC/],
])('a %s onto a full disk fails with the reason and leaves nothing', async (name, size, reason) => {
  const [data, backup] = [join(folder, 'data'), join(folder, 'backup')];
  const small = join(folder, 'small');
  mkdirSync(data);
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
