import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

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
    readiness: ['503 full', '503 full'],
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
}, 90_000);
