// requires: redis-server

import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { StoreUnavailableError } from '../../src/index.ts';
import { openRedis } from './open-redis.ts';

const advice = 'Set it to noeviction.';

describe('a Redis that may evict keys', () => {
  test.concurrent.each(['allkeys-lru', 'volatile-ttl'])(
    'receives no writes with %s, reports the reason, and works after the setting is corrected',
    async (policy) => {
      const { redis, store, changes } = await openRedis('--maxmemory-policy', policy);
      const claim = () => store.claim('used-code', 'first', 60).catch((error) => error);
      // On a busy machine, the first attempts can fail before the policy was read.
      await until(async () => String((await claim()).cause).includes('maxmemory-policy'));
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const failure = await claim();
        expect(failure).toBeInstanceOf(StoreUnavailableError);
        expect(String(failure.cause)).toContain(`maxmemory-policy ${policy}`);
        await sleep(100);
      }
      expect(await redis.command('DBSIZE')).toBe(':0\r\n');
      expect(changes.at(-1)).toEqual(['unavailable', expect.stringContaining(advice)]);

      await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
      await until(() => store.ping());
      expect(await store.claim('used-code', 'second', 60)).toBe('second');
      expect(changes.at(-1)).toEqual(['available', undefined]);
    },
  );

  test.concurrent('shows in the readiness when the policy is changed under a running server', async () => {
    const { redis, store } = await openRedis();
    await until(() => store.ping());
    await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-random');
    // The first ping may share an examination that started before the change.
    await store.ping().catch(() => undefined);
    await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailableError);
  });
});

/** Loads a key in half a millisecond, and replies to commands while loading. */
const loadsSlowly = ['--key-load-delay', '500', '--loading-process-events-interval-bytes', '1024'];

test.concurrent('a Redis that is loading is unavailable, and then works', async () => {
  const { redis, store } = await openRedis('--appendonly', 'yes', ...loadsSlowly);
  for (let batch = 0; batch < 10; batch += 1) {
    const keys = Array.from({ length: 300 }, (_, number) => `key-${300 * batch + number}`);
    await until(() => Promise.all(keys.map((key) => store.set(key, 'x'.repeat(64)))));
  }
  await redis.kill();
  const restarted = redis.restart();
  let rejected = 0;
  await until(async () => {
    const outcome = await store.get('key-2999').catch((error) => error);
    if (outcome instanceof StoreUnavailableError) {
      rejected += /LOADING|connect|Connection|ready/i.test(String(outcome.cause)) ? 1 : 0;
      throw outcome;
    }
    // With half of the data set, Redis would report a valid token as unknown.
    expect(outcome).toBe('x'.repeat(64));
  });
  await restarted;
  expect(rejected).toBeGreaterThan(0);
});
