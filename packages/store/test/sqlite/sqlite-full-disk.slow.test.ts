import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { beforeEach, describe, expect, test } from '@jest/globals';

const worker = join(import.meta.dirname, 'full-disk-worker.ts');

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

/** Runs commands with a separate file system mounted on the folder. Requires root. */
const unshare = (commands: string, ...words: readonly string[]) =>
  [['--mount', 'sh', '-ec', commands, 'sh', folder, process.execPath, ...words]] as const;

describe('a SQLite store on a full disk', () => {
  test('rejects ordinary writes, accepts revocations, stays ready, and recovers', () => {
    const commands = 'mount -t tmpfs -o size=32m tmpfs "$1"; exec "$2" "$3" "$1"';
    const [parameters] = unshare(commands, worker);
    const output = execFileSync('/usr/bin/unshare', parameters, { encoding: 'utf8' });
    const { filled, freeBytes, atReserve, withRoom, withoutRoom, recovered, changes } =
      JSON.parse(output);
    const ok = (count: number) => Array.from({ length: count }, () => 'ok');
    const room = { revoking: ok(4), ordinary: ok(5) };

    expect(filled).toBeGreaterThan(100);
    // The room that the store reports is without the reserve.
    expect(freeBytes).toBeLessThan(1024 ** 2);
    expect(atReserve).toEqual({
      revoking: ok(4),
      ordinary: Array.from({ length: 5 }, () => 'StoreFullError'),
      revocations: ['ok'],
      read: 'revoked',
      readiness: { ready: true, state: 'full' },
    });
    expect(withRoom).toEqual(room);
    // Another program has used up the reserve.
    expect(withoutRoom).toEqual({
      revoking: 'StoreFullError',
      read: 'revoked',
      readiness: { ready: true, state: 'full' },
    });
    expect(recovered).toEqual(room);
    const reasons = changes.filter(([state]: [string]) => state === 'full');
    expect(reasons.length).toBeGreaterThanOrEqual(2);
    expect(reasons[0][1]).toBe(
      'Less than 8 MiB are free on the file system of the store, so it writes only revocations. ' +
        'Free disk space.',
    );
  });

  test('does not open on a read-only file system, and reports what to do', () => {
    const open = `const { createStore } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/index.ts'))});
      try { createStore('sqlite:' + process.argv[1] + '/store.db'); } catch (error) { process.stdout.write(error.name + ': ' + error.reason); }`;
    const commands = `mount -t tmpfs tmpfs "$1"; mount -o remount,ro "$1"; exec "$2" "$3" "$4" "$5" "$1"`;
    const [parameters] = unshare(commands, '--input-type=module', '-e', open);
    const { stdout, stderr } = spawnSync('/usr/bin/unshare', parameters, { encoding: 'utf8' });
    expect([stdout, stderr]).toEqual([
      'StoreUnavailableError: The file cannot be opened (EROFS). Make the file of the store, its folder and its file system writable.',
      '',
    ]);
  });
});
