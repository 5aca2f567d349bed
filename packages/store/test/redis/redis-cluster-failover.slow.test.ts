// requires: redis-server
// runs alone: it has deadlines of seconds under load
import { type ClusterTopology, startClusterTopology, until } from '@gatehouse/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createStore, type Store } from '../../src/index.ts';

let redis: ClusterTopology;
let store: Store;

beforeAll(async () => {
  redis = await startClusterTopology();
  store = createStore(redis.storeUrl);
});

afterAll(async () => {
  await store?.close();
  await redis?.stop();
});

const keys = Array.from({ length: 30 }, (_, number) => `key-${number}`);

test('a store on a cluster keeps acknowledged writes, and writes again after a failover', async () => {
  await until(() => store.ping(), 30);
  await Promise.all(keys.map((key) => store.claim(key, 'first', 600)));
  const { server } = await redis.masterOf(0);
  await server.kill();
  await until(() => Promise.all(keys.map((key) => store.set(`${key}:later`, 'text', 600))), 30);
  for (const key of keys) {
    expect(await store.claim(key, 'second', 600)).toBe('first');
  }
});
