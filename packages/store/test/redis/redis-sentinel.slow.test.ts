// requires: redis-server
// runs alone: it has deadlines of seconds under load
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedisServer, until } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStore, type Store, StoreUnavailableError } from '../../src/index.ts';

const ELECTION_DEADLINE_MILLISECONDS = 15_000;

let master: RedisServer;
let replica: RedisServer;
let sentinel: RedisServer;
let store: Store;

beforeAll(async () => {
  master = await startRedisServer();
  replica = await startRedisServer({
    arguments: ['--replicaof', '127.0.0.1', String(master.port), '--repl-diskless-sync-delay', '0'],
  });
  sentinel = await startRedisServer({
    sentinel: [
      `sentinel monitor the-master 127.0.0.1 ${master.port} 1`,
      'sentinel down-after-milliseconds the-master 1000',
      'sentinel failover-timeout the-master 3000',
    ],
  });
  await until(async () =>
    (await replica.command('INFO', 'replication')).includes('link_status:up'),
  );
  await until(async () =>
    (await sentinel.command('SENTINEL', 'replicas', 'the-master')).includes(String(replica.port)),
  );
  store = createStore(`redis+sentinel://127.0.0.1:${sentinel.port}/the-master`);
  await until(works);
});

afterAll(async () => {
  await store.close();
  await Promise.all([sentinel.stop(), replica.stop(), master.stop()]);
});

describe('a store behind Redis Sentinel', () => {
  test('finds the master by its name', async () => {
    await store.set('key', 'value');
    expect(await store.get('key')).toBe('value');
    expect(await master.command('GET', 'key')).toContain('value');
  });

  test('follows a failover, throws StoreUnavailableError until then, and keeps the new master', async () => {
    await until(async () => (await replica.command('GET', 'key')).includes('value'));
    await master.kill();
    const started = performance.now();
    for (;;) {
      const attempted = performance.now();
      const error = await store.claim('claim', 'owner', 60).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(performance.now() - attempted).toBeLessThan(1400);
      if (error === undefined) {
        break;
      }
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(performance.now() - started).toBeLessThan(ELECTION_DEADLINE_MILLISECONDS);
      await sleep(50);
    }
    expect(await replica.command('GET', 'claim')).toContain('owner');
    await until(works);
    const settled = performance.now() + 2500;
    while (performance.now() < settled) {
      await store.increment('counter', 60);
      await sleep(50);
    }
    expect(await store.get('key')).toBe('value');
  });
});

const works = () =>
  store.ping().then(
    () => true,
    () => false,
  );
