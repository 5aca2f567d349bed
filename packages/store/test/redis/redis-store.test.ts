// requires: redis-server

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type RedisServer, startRedisServer, until } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  createRateLimiter,
  createStore,
  type Store,
  StoreFullError,
  StoreUnavailableError,
} from '../../src/index.ts';

let redis: RedisServer;
let store: Store;

beforeEach(async () => {
  redis = await startRedisServer();
  store = createStore(redis.url);
});

afterEach(async () => {
  await store.close();
  await redis.stop();
});

/** Claims 20 keys in one event-loop turn. */
const claimAll = (owner: string, ttlSeconds?: number) =>
  Promise.allSettled(
    Array.from({ length: 20 }, (_claim, i) => store.claim(`claim:${i}`, owner, ttlSeconds)),
  );

describe('the claims of one event-loop turn', () => {
  test('share one command and its deadline, but are separate claims', async () => {
    await store.claim('claim:7', 'former', 60);
    const outcomes = await claimAll('owner', 60);
    const holders = Array.from({ length: 20 }, (_claim, i) => (i === 7 ? 'former' : 'owner'));
    expect(outcomes).toEqual(holders.map((value) => ({ status: 'fulfilled', value })));
    expect(await redis.command('INFO', 'commandstats')).toMatch(/cmdstat_eval:calls=1,/);
    await claimAll('another', 60);
    expect(await redis.command('INFO', 'commandstats')).toMatch(/cmdstat_eval:calls=2,/);
  });

  test('expire separately, or never', async () => {
    const claims = [store.claim('short', 'owner', 10), store.claim('long', 'owner', 1000)];
    await Promise.all([...claims, store.claim('lasting', 'owner')]);
    expect(await redis.command('TTL', 'short')).toMatch(/^:(9|10)\r/);
    expect(await redis.command('TTL', 'long')).toMatch(/^:(999|1000)\r/);
    expect(await redis.command('TTL', 'lasting')).toMatch(/^:-1\r/);
  });

  test('all fail if Redis rejects their command', async () => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    for (const outcome of await claimAll('owner', 60)) {
      const reason = expect.any(StoreFullError);
      expect(outcome).toEqual({ status: 'rejected', reason });
    }
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    for (const outcome of await claimAll('another', 60)) {
      expect(outcome).toEqual({ status: 'fulfilled', value: 'another' });
    }
  });

  test('all fail in time if Redis does not reply', async () => {
    redis.freeze();
    const outcomes = await claimAll('owner', 60);
    redis.thaw();
    for (const outcome of outcomes) {
      const reason = expect.any(StoreUnavailableError);
      expect(outcome).toEqual({ status: 'rejected', reason });
    }
  });

  test('succeed if the store is closed in the same turn', async () => {
    // Connects.
    await store.ping();
    const claims = claimAll('owner', 60);
    await store.close();
    for (const outcome of await claims) {
      expect(outcome).toEqual({ status: 'fulfilled', value: 'owner' });
    }
  });

  test('are separate commands on a server that accepts only keys of one slot', async () => {
    const node = await startRedisServer({ arguments: ['--cluster-enabled', 'yes'] });
    await node.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    const single = createStore(node.url);
    try {
      await until(() => single.ping());
      await single.claim('taken', 'former', 60);
      for (const owner of ['first', 'second']) {
        const keys = ['taken', `a-${owner}`, `b-${owner}`, `a-${owner}`];
        const claims = keys.map((key, index) => single.claim(key, `${owner}-${index}`, 60));
        const holders = ['former', `${owner}-1`, `${owner}-2`, `${owner}-1`];
        expect(await Promise.all(claims)).toEqual(holders);
      }
      const statistics = await node.command('INFO', 'errorstats');
      expect(statistics).toMatch(/errorstat_CROSSSLOT:count=1\b/);
    } finally {
      await single.close();
      await node.stop();
    }
  });
});

/** Every Redis uses more memory than this. */
const fill = () => redis.command('CONFIG', 'SET', 'maxmemory', '1');
const revokes = { revokes: true } as const;

describe('a Redis at its maxmemory', () => {
  test('rejects writes that need memory, reports the reason, and still reads', async () => {
    await store.set('token', 'value');
    await store.addToIndex('index', 'member', Date.now() + 60_000);
    await fill();
    const growing = [
      store.set('another', 'value'),
      store.claim('code', 'owner', 60),
      store.increment('counter', 60),
      store.addToIndex('index', 'another', Date.now() + 60_000),
      store.append('log', ['entry'], 5),
    ];
    for (const outcome of await Promise.allSettled(growing)) {
      const reason = expect.any(StoreFullError);
      expect(outcome).toMatchObject({ status: 'rejected', reason });
      expect(outcome).toMatchObject({
        reason: { reason: expect.stringMatching(/^Redis replies OOM\. .*raise it/) },
      });
    }
    expect(await store.get('token')).toBe('value');
    expect(await store.members('index')).toEqual(['member']);
  });

  test('accepts deletions and revocations, even of new keys and after SCRIPT FLUSH', async () => {
    await store.set('token', 'value');
    await store.set('client', 'enabled');
    await store.addToIndex('index', 'member', Date.now() + 60_000);
    await fill();
    await redis.command('SCRIPT', 'FLUSH');
    await store.set('tombstone', '', 60, revokes);
    await store.set('client', 'disabled, and longer than before', undefined, revokes);
    expect(await store.claim('lock', 'owner', 10, revokes)).toBe('owner');
    expect(await store.claim('lock', 'another', 10, revokes)).toBe('owner');
    await store.append('changes', ['disabled'], 5, revokes);
    await store.delete(['token']);
    await store.removeFromIndex('index', 'member');

    expect(await store.get('tombstone')).toBe('');
    expect(await store.get('client')).toBe('disabled, and longer than before');
    expect(await store.read('changes', 5)).toEqual(['disabled']);
    expect(await store.get('token')).toBeUndefined();
    expect(await redis.command('TTL', 'tombstone')).toMatch(/^:(59|60)/);
    expect(await redis.command('TTL', 'client')).toMatch(/^:-1/);
  });

  test('makes a rate limiter count in its own process, up to the limit', async () => {
    const limit = { requests: 40, windowSeconds: 60 };
    const limiter = createRateLimiter('full', limit, { store, now: Date.now });
    for (let count = 0; count < 10; count += 1) {
      expect((await limiter.take('client')).allowed).toBe(true);
    }
    await fill();
    let allowed = 10;
    for (let count = 0; count < 100; count += 1) {
      allowed += (await limiter.take('client')).allowed ? 1 : 0;
    }
    expect(allowed).toBe(limit.requests);
    expect((await limiter.take('another')).allowed).toBe(true);
  });

  test('does not hide an outage: without Redis, a limiter throws', async () => {
    const limit = { requests: 40, windowSeconds: 60 };
    const limiter = createRateLimiter('gone', limit, { store, now: Date.now });
    await fill();
    expect((await limiter.take('client')).allowed).toBe(true);
    await redis.kill();
    const failure = await Promise.resolve(limiter.take('another')).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailableError);
    expect(failure).not.toBeInstanceOf(StoreFullError);
  });
});

test('a Redis that cannot persist its data is also full: it reads, but rejects writes', async () => {
  await store.set('token', 'value');
  // A folder with the name of the file prevents Redis from writing it.
  await mkdir(join(redis.directory, 'dump.rdb'));
  await redis.command('CONFIG', 'SET', 'save', '3600 1');
  await redis.command('BGSAVE');
  let failure: unknown;
  while (failure === undefined) {
    failure = await store.set('another', 'value').catch((error: unknown) => error);
  }
  expect(failure).toBeInstanceOf(StoreFullError);
  expect(failure).toMatchObject({
    reason: expect.stringMatching(/^Redis replies MISCONF\. .*disk/),
  });
  expect(await store.get('token')).toBe('value');
});
