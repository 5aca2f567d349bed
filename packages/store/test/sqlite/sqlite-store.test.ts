import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { until } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStore, StoreUnavailableError, storeOperations } from '../../src/index.ts';
import type { StoreState } from '../../src/store-watch.ts';
import { describeStoreContract } from '../contract/store-contract.ts';

const workerFile = fileURLToPath(new URL('../contract/store-worker.ts', import.meta.url));

let directory = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-sqlite-'));
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

function freshPath(): string {
  return join(directory, randomUUID(), 'deep', 'store.db');
}

describeStoreContract('SQLite', async () => {
  const ownDirectory = await mkdtemp(join(tmpdir(), 'gatehouse-sqlite-contract-'));
  return {
    url: `sqlite:${join(ownDirectory, 'store.db')}`,
    stop: () => rm(ownDirectory, { recursive: true, force: true }),
  };
});

test('an observer is notified of every operation once, with its duration and whether it failed', async () => {
  const calls: { operation: string; seconds: number; failed: boolean }[] = [];
  const store = createStore(`sqlite:${freshPath()}`, {
    observer: (operation, seconds, failed) => calls.push({ operation, seconds, failed }),
  });
  const useAll = () =>
    Promise.allSettled([
      store.get('value'),
      store.set('value', 'text'),
      store.claim('claim', 'owner'),
      store.replace('value', 'value', 'other'),
      store.delete(['value']),
      store.increment('counter', 60),
      store.decrement('counter'),
      store.addToIndex('index', 'member', Date.now() + 1000),
      store.removeFromIndex('index', 'member'),
      store.members('index'),
      store.append('log', ['entry'], 10),
      store.read('log', 1),
      store.ping(),
    ]);
  await useAll();
  expect(calls.map(({ operation }) => operation).sort()).toEqual([...storeOperations].sort());
  expect(calls.filter(({ failed }) => failed)).toEqual([]);
  expect(calls.filter(({ seconds }) => !(seconds > 0))).toEqual([]);

  await store.close();
  calls.length = 0;
  await useAll();
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

  test('can be created by several processes at the same time', async () => {
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

  test('gives the space of expired rows back to the file system', async () => {
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

  test('throws StoreUnavailableError while another process holds the lock, still reads, and recovers', async () => {
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

  test('keeps every acknowledged write when the writing process is killed', async () => {
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
