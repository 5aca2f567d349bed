// requires: redis-server
// runs alone: it has deadlines of seconds under load
import { startClusterTopology, until } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { describeStoreContract } from '../contract/store-contract.ts';
import { endAfterTests, openStore } from './open-redis.ts';

describeStoreContract('Redis Cluster', async () => {
  const { storeUrl: url, stop } = await startClusterTopology({ replicas: 0 });
  return { url, stop };
});

test('a store on a cluster keeps acknowledged writes, and writes again after a failover', async () => {
  const redis = await startClusterTopology();
  endAfterTests(redis.stop);
  const { store } = openStore(redis.storeUrl);
  const keys = Array.from({ length: 30 }, (_, number) => `key-${number}`);
  await until(() => store.ping(), 30);
  await Promise.all(keys.map((key) => store.claim(key, 'first', 600)));
  const { server } = await redis.masterOf(0);
  await server.kill();
  await until(() => Promise.all(keys.map((key) => store.set(`${key}:later`, 'text', 600))), 30);
  for (const key of keys) {
    expect(await store.claim(key, 'second', 600)).toBe('first');
  }
});
