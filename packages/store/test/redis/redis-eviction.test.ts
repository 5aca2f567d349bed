// requires: redis-server

import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedisServer, until } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createStore, type Store, StoreUnavailableError } from '../../src/index.ts';

interface Started {
  readonly redis: RedisServer;
  readonly store: Store;
  readonly changes: readonly (readonly [state: string, reason: string | undefined])[];
}

const running: Started[] = [];

async function start(...options: readonly string[]): Promise<Started> {
  const redis = await startRedisServer({ arguments: options });
  const changes: (readonly [state: string, reason: string | undefined])[] = [];
  const store = createStore(redis.url, { onStateChange: (...change) => changes.push(change) });
  const started = { redis, store, changes };
  running.push(started);
  return started;
}

/** Repeats `operation` until it does not throw. The timeout of the test limits it. */
async function works(operation: () => Promise<unknown>): Promise<void> {
  while (
    await operation().then(
      () => false,
      () => true,
    )
  ) {
    await sleep(20);
  }
}

afterAll(async () => {
  for (const { store, redis } of running) {
    await store.close();
    await redis.stop();
  }
});

const advice = 'Set it to noeviction.';

describe('a Redis that may evict keys', () => {
  test.concurrent.each(['allkeys-lru', 'volatile-ttl'])(
    'receives no writes with %s, reports the reason, and works after the setting is corrected',
    async (policy) => {
      const { redis, store, changes } = await start('--maxmemory-policy', policy);
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
      await works(() => store.ping());
      expect(await store.claim('used-code', 'second', 60)).toBe('second');
      expect(changes.at(-1)).toEqual(['available', undefined]);
    },
  );

  test.concurrent('shows in the readiness when the policy is changed under a running server', async () => {
    const { redis, store } = await start();
    await works(() => store.ping());
    await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-random');
    // The first ping may share an examination that started before the change.
    await store.ping().catch(() => undefined);
    await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailableError);
  });
});

/** Loads a key in half a millisecond, and replies to commands while loading. */
const loadsSlowly = ['--key-load-delay', '500', '--loading-process-events-interval-bytes', '1024'];

test.concurrent('a Redis that is loading is unavailable, and then works', async () => {
  const { redis, store } = await start('--appendonly', 'yes', ...loadsSlowly);
  for (let batch = 0; batch < 10; batch += 1) {
    const keys = Array.from({ length: 300 }, (_, number) => `key-${300 * batch + number}`);
    await works(() => Promise.all(keys.map((key) => store.set(key, 'x'.repeat(64)))));
  }
  await redis.kill();
  const restarted = redis.restart();
  let rejected = 0;
  await works(async () => {
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
