// requires: redis-server
import { type StoreEngine, startStoreEngine, storeEngines } from '@gatehouse/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createRateLimiter, createStore, type Store } from '../src/index.ts';

describe.each(storeEngines)('a rate limiter over %s', (name) => {
  let engine: StoreEngine;
  const stores: Store[] = [];

  beforeAll(async () => {
    engine = await startStoreEngine(name);
  });
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
  });
  afterAll(() => engine.stop());

  /** The rate limiter of one process, with its store. */
  function open(limitName: string, requests: number) {
    const store = createStore(engine.storeUrl);
    stores.push(store);
    let operations = 0;
    const counting = {
      increment: (...parameters: Parameters<Store['increment']>) => {
        operations += 1;
        return store.increment(...parameters);
      },
    };
    const limit = { requests, windowSeconds: 60 };
    const dependencies = { store: counting as never, now: Date.now };
    const limiter = createRateLimiter(limitName, limit, dependencies);
    return { limiter, operations: () => operations };
  }

  test('uses one store operation for each lease, not for each request', async () => {
    const { limiter, operations } = open('leases', 100_000);
    let allowed = 0;
    for (let count = 0; count < 101_000; count += 1) {
      allowed += (await limiter.take('key')).allowed ? 1 : 0;
    }
    expect(allowed).toBe(100_000);
    expect(operations()).toBeLessThan(60);
  });

  test('allows at most the limit in three processes, and not much less', async () => {
    const processes = [open('shared', 640), open('shared', 640), open('shared', 640)];
    let allowed = 0;
    for (let round = 0; round < 40; round += 1) {
      const verdicts = await Promise.all(
        Array.from({ length: 30 }, (_, i) => processes[i % 3]?.limiter.take('key')),
      );
      allowed += verdicts.filter((verdict) => verdict?.allowed).length;
    }
    expect(allowed).toBeLessThanOrEqual(640);
    expect(allowed).toBeGreaterThanOrEqual(640 - 3 * (640 / 32));
    for (const { limiter } of processes) {
      expect(await limiter.take('key')).toMatchObject({ allowed: false, remaining: 0 });
      expect((await limiter.take('another key')).allowed).toBe(true);
    }
  });
});

describe('a rate limiter', () => {
  test('remembers a rejected key during a flood of other keys', async () => {
    const store = {
      increment: async (key: string) => ({
        count: key.endsWith('over') ? 6 : 1,
        resetsAt: Date.now() + 60_000,
      }),
    };
    const limit = { requests: 5, windowSeconds: 60 };
    const limiter = createRateLimiter('t', limit, { store: store as never, now: Date.now });
    await limiter.take('over');
    for (let key = 0; key < 60_000; key += 1) {
      await limiter.take(String(key));
      if (key % 5_000 === 0) {
        expect(limiter.knownRejection('over')).toMatchObject({ allowed: false });
      }
    }
  });
});
