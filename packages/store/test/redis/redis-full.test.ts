// requires: redis-server

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type RedisServer, startRedisServer } from '@gatehouse/testing';
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
