// requires: redis-server
// runs alone: it has deadlines of seconds

import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedisServer } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createStore, type Store, type StoreRoom, storeReadiness } from '../src/index.ts';
import { type ClusterNodes, startClusterNodes } from './redis/redis-cluster-nodes.ts';

/**
 * With one examination per second, half of this is enough. The rest allows for a loaded machine.
 */
const NOTICED_MILLISECONDS = 3000;

type Change = readonly [state: string, reason: string | undefined];

const endings: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) {
    await end();
  }
});

async function open(): Promise<{
  readonly redis: RedisServer;
  readonly store: Store;
  readonly changes: Change[];
  readonly rooms: StoreRoom[];
}> {
  const redis = await startRedisServer();
  endings.push(() => redis.stop());
  return { redis, ...(await watch(redis.url)) };
}

async function watch(url: string) {
  const changes: Change[] = [];
  const rooms: StoreRoom[] = [];
  const store = createStore(url, {
    onStateChange: (...change) => changes.push(change),
    onRoom: (room) => rooms.push(room),
  });
  endings.push(() => store.close());
  await until(() => isReady(store));
  return { store, changes, rooms };
}

/** @returns how long it took. The timeout of the test limits it */
async function until(condition: () => boolean | Promise<boolean>): Promise<number> {
  const started = performance.now();
  while (!(await condition())) {
    await sleep(10);
  }
  return performance.now() - started;
}

const isReady = async (store: Store) => (await storeReadiness(store)).ready;

describe('a watched store without traffic', () => {
  test('reports that Redis is frozen, and that it works again', async () => {
    const { redis, changes } = await open();
    redis.freeze();
    expect(await until(() => changes.length === 1)).toBeLessThan(NOTICED_MILLISECONDS);
    expect(changes).toEqual([['unavailable', expect.stringContaining('does not reply in time')]]);
    redis.thaw();
    expect(await until(() => changes.length > 1)).toBeLessThan(NOTICED_MILLISECONDS);
    expect(changes.at(-1)).toEqual(['available', undefined]);
  });

  test.each([
    ['full', 'OOM', /raise it/, ['maxmemory', '1'], ['maxmemory', '0']],
    [
      'unavailable',
      'NOREPLICAS',
      /reconnect/,
      ['min-replicas-to-write', '1'],
      ['min-replicas-to-write', '0'],
    ],
  ])(
    'reports once that it is %s if Redis replies %s, and what to do',
    async (state, word, advice, setting, undone) => {
      const { redis, store, changes } = await open();
      await redis.command('CONFIG', 'SET', ...setting);
      expect(await until(() => changes.length > 0)).toBeLessThan(NOTICED_MILLISECONDS);
      expect(await storeReadiness(store)).toEqual({ ready: state === 'full', state });
      await sleep(1500);
      expect(changes).toEqual([
        [state, expect.stringMatching(new RegExp(`^Redis replies ${word}\\.`))],
      ]);
      expect(changes[0]?.[1]).toMatch(advice);
      await redis.command('CONFIG', 'SET', ...undone);
      await until(() => changes.length > 1);
      expect(changes.at(-1)).toEqual(['available', undefined]);
      expect(await storeReadiness(store)).toEqual({ ready: true, state: 'ok' });
    },
  );

  test('reports the used and the maximum space of Redis', async () => {
    const { redis, rooms } = await open();
    expect(rooms.at(-1)?.maximumBytes).toBeUndefined();
    expect(rooms.at(-1)?.usedBytes).toBeGreaterThan(100_000);
    await redis.command('CONFIG', 'SET', 'maxmemory', '100000000');
    await until(() => rooms.at(-1)?.maximumBytes === 100_000_000);
  });
});

describe('a watched cluster', () => {
  let cluster: ClusterNodes;

  test('is not ready while a master is frozen, reports the reason, and recovers', async () => {
    cluster = await startClusterNodes();
    endings.push(() => cluster.stop());
    const { store, changes } = await watch(cluster.url);
    cluster.nodes[1]?.freeze();
    expect(await until(() => changes.length > 0)).toBeLessThan(NOTICED_MILLISECONDS);
    const started = performance.now();
    while (performance.now() - started < 6000) {
      expect(await isReady(store)).toBe(false);
      await sleep(100);
    }
    const states = changes.map(([state]) => state);
    expect(new Set(states)).toEqual(new Set(['unavailable']));
    expect(changes.length).toBeLessThan(6);

    cluster.nodes[1]?.thaw();
    await until(() => isReady(store));
    expect(changes.at(-1)).toEqual(['available', undefined]);
  });

  test('reports CLUSTERDOWN and what to do if it does not serve all slots', async () => {
    cluster = await startClusterNodes();
    endings.push(() => cluster.stop());
    const { store, changes } = await watch(cluster.url);
    await Promise.all(
      cluster.nodes.map((node) => node.command('CLUSTER', 'DELSLOTSRANGE', '0', '100')),
    );
    await until(() => changes.some(([, reason]) => reason?.includes('CLUSTERDOWN') === true));
    expect(changes.at(-1)?.[1]).toContain('start the master that is missing');
    expect(await isReady(store)).toBe(false);
  });
});
