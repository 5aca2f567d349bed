// requires: redis-server
import { type RedisServer, startRedisServer, until } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createStore, type Store, StoreFullError, StoreUnavailableError } from '../../src/index.ts';

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
