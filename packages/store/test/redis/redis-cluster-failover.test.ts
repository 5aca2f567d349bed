// requires: redis-server
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClusterTopology, startClusterTopology } from '@gatehouse/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createStore, type Store } from '../../src/index.ts';

const DEADLINE_MILLISECONDS = 30_000;

let redis: ClusterTopology;
let store: Store;

beforeAll(async () => {
  redis = await startClusterTopology();
  store = createStore(redis.storeUrl);
}, 60_000);

afterAll(async () => {
  await store?.close();
  await redis?.stop();
});

const keys = Array.from({ length: 30 }, (_, number) => `key-${number}`);

test('a store over a cluster keeps what it acknowledged and writes again once a replica took over', async () => {
  await until(() => store.ping());
  await Promise.all(keys.map((key) => store.claim(key, 'first', 600)));
  const { server } = await redis.masterOf(0);
  await server.kill();
  await until(() => Promise.all(keys.map((key) => store.set(`${key}:later`, 'text', 600))));
  for (const key of keys) {
    expect(await store.claim(key, 'second', 600)).toBe('first');
  }
}, 90_000);

async function until(attempt: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MILLISECONDS;
  for (;;) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (performance.now() > deadline) {
        throw error;
      }
      await sleep(50);
    }
  }
}
