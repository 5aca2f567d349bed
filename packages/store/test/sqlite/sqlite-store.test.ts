import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { until } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createStore, StoreUnavailableError, storeOperations } from '../../src/index.ts';
import { openSqliteDatabase } from '../../src/sqlite/sqlite-database.ts';
import { startSweeping } from '../../src/sqlite/sqlite-space.ts';
import { prepareStatements } from '../../src/sqlite/sqlite-statements.ts';
import type { StoreState } from '../../src/store-watch.ts';
import { describeStoreContract, useAll } from '../contract/store-contract.ts';

const workerFile = fileURLToPath(new URL('../contract/store-worker.ts', import.meta.url));

const directory = temporaryFolder();

function freshPath(): string {
  return join(directory, randomUUID(), 'deep', 'store.db');
}

describeStoreContract('SQLite', async () => ({
  url: `sqlite:${freshPath()}`,
  stop: async () => undefined,
}));

test('an observer is notified of every operation once, with its duration and whether it failed', async () => {
  const calls: { operation: string; seconds: number; failed: boolean }[] = [];
  const store = createStore(`sqlite:${freshPath()}`, {
    observer: (operation, seconds, failed) => calls.push({ operation, seconds, failed }),
  });
  await useAll(store, 'key');
  expect(calls.map(({ operation }) => operation).sort()).toEqual([...storeOperations].sort());
  expect(calls.filter(({ failed }) => failed)).toEqual([]);
  expect(calls.filter(({ seconds }) => !(seconds > 0))).toEqual([]);

  await store.close();
  calls.length = 0;
  await useAll(store, 'key');
  expect(calls).toHaveLength(storeOperations.length);
  expect(calls.filter(({ failed }) => !failed)).toEqual([]);
});

describe('the SQLite file', () => {
  test('is created with its folders, WAL file and index so that only the owner can read them', async () => {
    const path = freshPath();
    const store = createStore(`sqlite:${path}`);
    try {
      await store.set('key', 'value');
      for (const file of [path, `${path}-wal`, `${path}-shm`]) {
        expect((await stat(file)).mode & 0o777).toBe(0o600);
      }
      expect((await stat(join(path, '..'))).mode & 0o777).toBe(0o700);
      expect((await stat(join(path, '../..'))).mode & 0o777).toBe(0o700);
    } finally {
      await store.close();
    }
  });

  test('keeps at most 1 % more entries of a log than its capacity, if one process appends', async () => {
    const url = `sqlite:${freshPath()}`;
    const [store, other] = [createStore(url), createStore(url)];
    const capacity = 1280;
    const append = async (from: number, count: number) => {
      const entries = Array.from({ length: count }, (_, i) => `entry-${from + i}`);
      await store.append('log', entries, capacity);
    };
    try {
      await append(0, capacity);
      for (let count = 0; count < 30; count += 1) {
        await append(capacity + count, 1);
        const kept = await store.read('log', 2 * capacity);
        expect(kept[0]).toBe(`entry-${capacity + count}`);
        expect(kept.length).toBeGreaterThanOrEqual(capacity);
        expect(kept.length).toBeLessThanOrEqual(capacity * 1.01);
      }
      await other.append('log', ['the first one of its process'], capacity);
      expect(await other.read('log', 2 * capacity)).toHaveLength(capacity);
    } finally {
      await Promise.all([store.close(), other.close()]);
    }
  });

  test('throws StoreUnavailableError immediately if it cannot be opened', () => {
    expect(() => createStore('sqlite:/dev/null/store.db')).toThrow(StoreUnavailableError);
  });

  test.concurrent('can be created by several processes at the same time', async () => {
    const url = `sqlite:${freshPath()}`;
    const workers = Array.from({ length: 5 }, () =>
      spawn(process.execPath, [workerFile, url, 'increment', 'starts', '1'], { stdio: 'ignore' }),
    );
    const codes = await Promise.all(
      workers.map(async (worker) => (await once(worker, 'close'))[0]),
    );
    expect(codes).toEqual([0, 0, 0, 0, 0]);
    const store = createStore(url);
    expect((await store.increment('starts', 60, 0)).count).toBe(5);
    await store.close();
  });
});

describe('a SQLite store', () => {
  test('uses the injected clock for expiry', async () => {
    let now = 1_700_000_000_000;
    const store = createStore(`sqlite:${freshPath()}`, { now: () => now });
    await store.set('key', 'value', 10);
    now += 9999;
    expect(await store.get('key')).toBe('value');
    now += 1;
    expect(await store.get('key')).toBeUndefined();
    await store.close();
  });

  test.concurrent('gives the space of expired rows back to the file system', async () => {
    const path = freshPath();
    const large = 'x'.repeat(20_000);
    let now = 1_700_000_000_000;
    const store = createStore(`sqlite:${path}`, { now: () => now });
    for (let number = 0; number < 800; number += 1) {
      await store.set(`temporary-${number}`, large, 10);
    }
    await store.set('living', 'value');
    const full = (await store.ping()).usedBytes;
    now += 10_000;
    const hasShrunk = async () => {
      // Writes move the pages from the write-ahead log to the file.
      await store.set('living', `${large}${Math.random()}`);
      return (await stat(path)).size < full / 3;
    };
    await until(hasShrunk);

    expect(full).toBeGreaterThan(800 * large.length);
    expect(await store.get('temporary-1')).toBeUndefined();
    expect(await store.get('living')).toContain(large);
    await store.close();
  });

  test.concurrent('throws StoreUnavailableError while another process holds the lock, still reads, and recovers', async () => {
    const path = freshPath();
    const states: StoreState[] = [];
    const store = createStore(`sqlite:${path}`, { onStateChange: (state) => states.push(state) });
    await store.set('key', 'value');
    const locker = await holdLock(path);

    const writes = Array.from({ length: 20 }, () => store.claim('key-2', 'owner', 60));
    expect(await store.get('key')).toBe('value');
    for (const outcome of await Promise.allSettled(writes)) {
      expect(outcome).toMatchObject({ reason: expect.any(StoreUnavailableError) });
    }
    await until(() => states.at(-1) === 'unavailable');

    locker.kill('SIGKILL');
    await once(locker, 'close');
    expect(await store.claim('key-2', 'owner', 60)).toBe('owner');
    await until(() => states.at(-1) === 'available');
    await store.close();
  });

  test.concurrent('keeps every acknowledged write when the writing process is killed', async () => {
    const url = `sqlite:${freshPath()}`;
    const acknowledged = await writeAndKill(url);
    expect(acknowledged.length).toBeGreaterThan(100);
    const store = createStore(url);
    for (const number of acknowledged) {
      expect(await store.get(`written:${number}`)).toBe(`value-${number}`);
    }
    await store.close();
  });
});

/** Starts a process that takes the write lock and keeps it. */
async function holdLock(path: string): Promise<ChildProcess> {
  const script = `
    const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(${JSON.stringify(path)}, { timeout: 1000 });
    database.exec('BEGIN EXCLUSIVE');
    process.stdout.write('locked');
    setTimeout(() => {}, 60_000);`;
  const locker = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(locker.stdout, 'data');
  return locker;
}

/** Kills a writing process with SIGKILL, and returns the numbers that it had printed as written. */
async function writeAndKill(url: string): Promise<readonly string[]> {
  const writer = spawn(process.execPath, [workerFile, url, 'write until killed', 'written'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  writer.stdout.on('data', (data: Buffer) => {
    output += data.toString();
  });
  const deadline = Date.now() + 20_000;
  while (output.length < 1000 && Date.now() < deadline) {
    await sleep(20);
  }
  writer.kill('SIGKILL');
  await once(writer, 'close');
  return output.split('\n').slice(0, -1);
}

describe('claims of one turn', () => {
  const path = freshPath();
  const store = createStore(`sqlite:${path}`);
  const other = new DatabaseSync(path);
  afterAll(async () => {
    await store.close();
    other.close();
  });

  /** Each commit appends every page that it changed to the log. */
  const logBytes = () => statSync(`${path}-wal`).size;
  const PAGE_BYTES = 4096;

  const claimAll = (names: readonly string[]) =>
    Promise.all(names.map((name) => store.claim(name, `owner of ${name}`)));

  test('claims of one turn share a commit, and each has its own winner', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `claim-${index % 10}`);
    const owners = names.map((_, index) => `owner-${index}`);
    const before = logBytes();
    const holders = await Promise.all(
      names.map((name, index) => store.claim(name, owners[index] ?? '')),
    );
    expect(holders).toEqual([...owners.slice(0, 10), ...owners.slice(0, 10)]);
    expect((logBytes() - before) / PAGE_BYTES).toBeLessThan(names.length / 2);
  });

  test('no claim of a turn succeeds if another process holds the lock, and the store recovers', async () => {
    other.exec('BEGIN IMMEDIATE');
    const outcomes = await Promise.allSettled(['a', 'b'].map((name) => store.claim(name, 'first')));
    other.exec('ROLLBACK');
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ reason: expect.any(StoreUnavailableError) });
    }
    expect(await claimAll(['a', 'b'])).toEqual(['owner of a', 'owner of b']);
  });
});

test.concurrent('a SQLite file shrinks after its rows expire, except for pages that the next writes need', async () => {
  const database = openSqliteDatabase(freshPath());
  const set = database.prepare('INSERT INTO entries VALUES (?, ?, 0)');
  for (let row = 0; row < 5000; row += 1) {
    set.run(`key-${row}`, 'x'.repeat(2000));
  }
  const pages = () => Number(database.prepare('PRAGMA page_count').get()?.page_count);
  expect(pages()).toBeGreaterThan(2500);
  const stopSweeping = startSweeping(database, prepareStatements(database), Date.now);
  await until(() => pages() <= 1300);
  stopSweeping();
  expect(database.prepare('PRAGMA freelist_count').get()?.freelist_count).toBeGreaterThan(700);
  database.close();
});
