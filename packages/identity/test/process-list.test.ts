// requires: redis-server
import { storeEngines } from '@gatehouse/testing';
import { beforeEach, expect, test } from '@jest/globals';
import { createProcessList, PROCESS_EXPIRES_SECONDS } from '../src/log/process-list.ts';
import { describeOnEngines } from './engines.ts';

const report = {
  app: 'gateway',
  version: '1.0.0',
  ready: true,
  checks: { store: 'ok' },
  circuits: { 'device-service': 'closed' },
  routes: {
    count: 300,
    first: [
      {
        ...{ route: 'GET /api/device', upstream: 'device-service' },
        ...{ requires: 'scope: device:read', origin: 'default' as const },
      },
    ],
  },
  configuration: { loadedAt: 1, problems: ['ROUTES_FILE: names a file that is missing'] },
  settings: [
    { name: 'HOST', value: '0.0.0.0', origin: 'variable' },
    { name: 'STORE_URL', origin: 'file' },
  ],
} as const;

describeOnEngines(
  'the list of processes',
  ({ openStore }) => {
    const clock = { now: Date.now() };
    const open = () => createProcessList({ store: openStore(), now: () => clock.now });
    beforeEach(async () => {
      const store = openStore();
      await store.delete(['processes', 'processes:reload']);
    });

    test('every process has one entry with its last report', async () => {
      const [first, second] = [open().enter(), open().enter()];
      const startedAt = clock.now;
      await first.report(report);
      await second.report({ ...report, app: 'authorization-server' });
      clock.now += 10_000;
      await first.report({ ...report, ready: false, checks: { store: 'full' } });
      const listed = await open().read();
      const self = {
        pid: process.pid,
        host: expect.any(String),
        id: expect.any(String),
        startedAt,
      };
      expect(listed).toEqual([
        { ...report, ...self, app: 'authorization-server', checkedAt: startedAt },
        { ...report, ...self, ready: false, checks: { store: 'full' }, checkedAt: clock.now },
      ]);
      expect(new Set(listed.map(({ id }) => id)).size).toBe(2);
    });

    test('every process learns once that an operator wants a reload', async () => {
      const [first, second] = [open().enter(), open().enter()];
      expect(await first.isReloadWanted()).toBe(false);
      await open().requestReload();
      const wanted = [await first.isReloadWanted(), await first.isReloadWanted()];
      expect([...wanted, await second.isReloadWanted()]).toEqual([true, false, true]);
      clock.now += 1;
      await open().requestReload();
      expect(await first.isReloadWanted()).toBe(true);
      // By a console whose clock is behind.
      clock.now -= 60_000;
      await open().requestReload();
      expect([await first.isReloadWanted(), await first.isReloadWanted()]).toEqual([true, false]);
    });

    test('a process that ends leaves the list', async () => {
      const [staying, leaving] = [open().enter(), open().enter()];
      await staying.report(report);
      await leaving.report(report);
      await leaving.leave();
      expect(await open().read()).toHaveLength(1);
    });

    test('a process that no longer reports disappears after a minute', async () => {
      const [silent, alive] = [open().enter(), open().enter()];
      await silent.report(report);
      clock.now += PROCESS_EXPIRES_SECONDS * 1000;
      await alive.report({ ...report, app: 'authorization-server' });
      expect((await open().read()).map(({ app }) => app)).toEqual(['authorization-server']);
    });

    test('the list is bounded, and skips lines that are no entries', async () => {
      const store = openStore();
      const lines = Array.from({ length: 400 }, (_, number) => `damaged-${number}`);
      await store.append('processes', lines, 1000);
      await open().enter().report(report);
      expect(await open().read()).toHaveLength(1);
      expect((await store.read('processes', 1000)).length).toBeLessThanOrEqual(259);
    });
  },
  storeEngines,
);
