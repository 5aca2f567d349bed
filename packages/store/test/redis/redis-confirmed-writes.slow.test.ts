// requires: redis-server
// runs alone: it has deadlines of seconds under load
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedisServer, until } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createStore, type Store, StoreUnavailableError } from '../../src/index.ts';

/**
 * The port guarantees 500 ms. This allows for a loaded machine, but not for a wait without a
 * deadline.
 */
const ANSWER_MILLISECONDS = 2000;

/** The master starts to replicate without waiting for more replicas. */
const atOnce = ['--repl-diskless-sync-delay', '0'];

let master: RedisServer;
let replicas: RedisServer[];
let store: Store;

const everyWrite: readonly [name: string, write: () => Promise<unknown>][] = [
  ['a claim', () => store.claim('claim', 'owner', 60)],
  ['the same claim again', () => store.claim('claim', 'owner', 60)],
  [
    'several claims of one turn',
    () => Promise.all(['one', 'two'].map((key) => store.claim(key, 'owner', 60))),
  ],
  ['a value', () => store.set('value', 'text', 60)],
  ['a replaced value', () => store.replace('replaced', 'text', 'other')],
  ['a value of a revocation', () => store.set('tombstone', '', 60, { revokes: true })],
  ['a deletion', () => store.delete(['value'])],
  ['a deletion of an unknown key', () => store.delete(['value'])],
  ['a new member of an index', () => store.addToIndex('index', 'member', Date.now() + 60_000)],
  ['a removed member of an index', () => store.removeFromIndex('index', 'member')],
];

beforeEach(async () => {
  master = await startRedisServer({ arguments: atOnce });
  const following = ['--replicaof', '127.0.0.1', String(master.port)];
  replicas = await Promise.all([1, 2].map(() => startRedisServer({ arguments: following })));
  await inSync(2);
  store = createStore(master.url);
  await until(() => store.ping());
});

afterEach(async () => {
  await store.close();
  await Promise.all([master, ...replicas].map((server) => server.stop()));
});

describe('a store whose Redis has replicas', () => {
  test('acknowledges writes that every replica has', async () => {
    for (let number = 0; number < 50; number += 1) {
      const key = `claim-${number}`;
      await store.claim(key, 'owner', 60);
      for (const replica of replicas) {
        expect(await replica.command('GET', key)).toContain('owner');
      }
    }
  });

  test('does not acknowledge a write that a replica lacks, and fails in time', async () => {
    await store.claim('claim', 'another', 60);
    await store.delete(['claim']);
    replicas[1]?.freeze();
    for (const [name, write] of everyWrite) {
      const started = performance.now();
      const outcome = await write().catch((error: unknown) => error);
      expect([name, outcome]).toEqual([name, expect.any(StoreUnavailableError)]);
      expect(performance.now() - started).toBeLessThan(ANSWER_MILLISECONDS);
    }
    replicas[1]?.thaw();
    await until(() => store.claim('claim', 'owner', 60));
    for (const [, write] of everyWrite) {
      await write();
    }
  });

  test('does not acknowledge it either if Redis has forgotten the scripts', async () => {
    for (const [, write] of everyWrite) {
      await write();
    }
    replicas[1]?.freeze();
    for (const [name, write] of everyWrite) {
      await master.command('SCRIPT', 'FLUSH');
      const outcome = await write().catch((error: unknown) => error);
      expect([name, outcome]).toEqual([name, expect.any(StoreUnavailableError)]);
    }
    replicas[1]?.thaw();
  });

  test('does not send a write after its caller received a timeout', async () => {
    // The next write waits until the server reports its replicas again.
    await sleep(1100);
    master.freeze();
    await expect(store.claim('late', 'owner', 60)).rejects.toThrow(StoreUnavailableError);
    master.thaw();
    await until(() => store.ping());
    expect(await master.command('GET', 'late')).toBe('$-1\r\n');
  });

  test('reads and counts while a write waits for replicas', async () => {
    await store.set('value', 'text');
    for (const replica of replicas) {
      replica.freeze();
    }
    const settled: string[] = [];
    const write = store.claim('claim', 'owner', 60).catch(() => settled.push('write'));
    // WAIT is in progress by then. On its connection, Redis would reply to these after it.
    await sleep(20);
    expect(await store.get('value')).toBe('text');
    await store.increment('counter', 60);
    settled.push('reads');
    await write;
    expect(settled).toEqual(['reads', 'write']);
  });

  test('continues with the remaining replica some seconds after the other died', async () => {
    await store.claim('claim', 'owner', 60);
    await replicas[0]?.kill();
    await expect(store.claim('early', 'owner', 60)).rejects.toThrow(StoreUnavailableError);
    await until(() => store.claim('late', 'owner', 60));
    expect(await replicas[1]?.command('GET', 'late')).toContain('owner');
  });

  test('acknowledges nothing without a replica, and continues when one returns', async () => {
    await store.set('value', 'text');
    await Promise.all(replicas.map((replica) => replica.kill()));
    await sleep(6000);
    await expect(store.claim('claim', 'owner', 60)).rejects.toThrow(StoreUnavailableError);
    expect(await store.get('value')).toBe('text');
    await replicas[0]?.restart();
    await until(() => store.claim('claim', 'owner', 60));
  });

  test('notices replicas that connect while it runs', async () => {
    const single = await startRedisServer({ arguments: atOnce });
    const early = createStore(single.url);
    try {
      await until(() => early.claim('claim', 'owner', 60));
      await replicas[0]?.command('REPLICAOF', '127.0.0.1', String(single.port));
      await inSync(1, single);
      await sleep(1100);
      replicas[0]?.freeze();
      await expect(early.claim('other', 'owner', 60)).rejects.toThrow(StoreUnavailableError);
    } finally {
      await early.close();
      await single.stop();
    }
  });
});

describe('the warnings of a store', () => {
  async function warnings(): Promise<readonly string[]> {
    const messages: string[] = [];
    const warned = createStore(master.url, { onWarning: (message) => messages.push(message) });
    await until(() => warned.claim('claim', 'owner', 60));
    await warned.close();
    return messages;
  }

  test('name the settings without which Redis may lose acknowledged writes', async () => {
    expect(await warnings()).toEqual([
      'Redis has no append-only file: a restart loses revocations. Set appendonly yes.',
      'Redis accepts writes without its replicas: a failover may lose revocations. ' +
        'Set min-replicas-to-write 1 and min-replicas-max-lag 10.',
    ]);
  });
});

describe('a store whose Redis has no replicas', () => {
  test('does not send WAIT', async () => {
    const single = await startRedisServer();
    const plain = createStore(single.url);
    await until(() => plain.claim('claim', 'owner', 60));
    await plain.set('value', 'text');
    await plain.delete(['value']);
    expect(await single.command('INFO', 'commandstats')).not.toContain('cmdstat_wait:');
    await plain.close();
    await single.stop();
  });
});

async function inSync(count: number, server = master): Promise<void> {
  await until(async () => {
    await server.command('SET', 'first', 'write');
    const report = await server.command('INFO', 'replication');
    expect(report.match(/state=online,offset=[1-9]\d*,lag=[01]\b/g)).toHaveLength(count);
  });
}
