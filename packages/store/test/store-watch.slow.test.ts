// requires: redis-server
// runs alone: it has deadlines of seconds
import { setTimeout as sleep } from 'node:timers/promises';
import { startClusterTopology, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { type Store, storeReadiness } from '../src/index.ts';
import { endAfterTests, openRedis, openStore } from './redis/open-redis.ts';

type Opened = Omit<Awaited<ReturnType<typeof openRedis>>, 'redis'>;

async function whenReady<Each extends Opened>(opened: Each): Promise<Each> {
  await until(() => isReady(opened.store));
  return opened;
}

const open = async () => whenReady(await openRedis());

const isReady = async (store: Store) => (await storeReadiness(store)).ready;

describe('a watched store without traffic', () => {
  test('reports that Redis is frozen, and that it works again', async () => {
    const { redis, changes } = await open();
    redis.freeze();
    await until(() => changes.length === 1);
    expect(changes).toEqual([['unavailable', expect.stringContaining('does not reply in time')]]);
    redis.thaw();
    await until(() => changes.length > 1);
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
      await until(() => changes.length > 0);
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
  test('is not ready while a master is frozen, reports the reason, and recovers', async () => {
    const cluster = await startClusterTopology({ replicas: 0 });
    endAfterTests(cluster.stop);
    const { store, changes } = await whenReady(openStore(cluster.storeUrl));
    cluster.nodes[1]?.server.freeze();
    await until(() => changes.length > 0);
    const started = performance.now();
    while (performance.now() - started < 6000) {
      expect(await isReady(store)).toBe(false);
      await sleep(100);
    }
    const states = changes.map(([state]) => state);
    expect(new Set(states)).toEqual(new Set(['unavailable']));
    expect(changes.length).toBeLessThan(6);

    cluster.nodes[1]?.server.thaw();
    await until(() => isReady(store));
    expect(changes.at(-1)).toEqual(['available', undefined]);
  });

  test('reports CLUSTERDOWN and what to do if it does not serve all slots', async () => {
    const cluster = await startClusterTopology({ replicas: 0 });
    endAfterTests(cluster.stop);
    const { store, changes } = await whenReady(openStore(cluster.storeUrl));
    await Promise.all(
      cluster.nodes.map(({ server }) => server.command('CLUSTER', 'DELSLOTSRANGE', '0', '100')),
    );
    await until(() => changes.some(([, reason]) => reason?.includes('CLUSTERDOWN') === true));
    expect(changes.at(-1)?.[1]).toContain('start the master that is missing');
    expect(await isReady(store)).toBe(false);
  });
});
