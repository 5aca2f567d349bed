// requires: redis-server
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createStore, StoreUnavailableError } from '@gatehouse/store';
import { storeEngines, wrappedStore } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { createTimeSeries, REST } from '../src/log/time-series.ts';
import { describeOnEngines } from './engines.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The start of a day, long ago: the tests use cells of their own apps. */
const START = Date.UTC(2026, 0, 31);

const counted = (count: number, client = 'one') => ({
  outcomes: new Map([['success', count]]),
  clients: new Map([[client, count]]),
});
const successes = (points: readonly { counts: { outcomes: ReadonlyMap<string, number> } }[]) =>
  points.map(({ counts }) => counts.outcomes.get('success') ?? 0);
const programFile = join(import.meta.dirname, 'time-series-process.ts');

describeOnEngines(
  'the time series',
  ({ openStore, storeUrl }) => {
    /** A series with a clock of its own, and the name of an app that no other test uses. */
    function open() {
      const clock = { now: START };
      const store = openStore();
      return {
        app: `app-${randomUUID()}`,
        clock,
        store,
        series: createTimeSeries({ store, now: () => clock.now }),
      };
    }

    test('a minute and its hour have what was added in them', async () => {
      const { app, clock, series } = open();
      for (const [minutes, count] of [
        [0, 1],
        [0.9, 2],
        [2, 4],
        [61, 8],
      ] as const) {
        clock.now = START + minutes * MINUTE;
        await series.add(app, counted(count));
      }
      const range = { app, from: START, to: START + 3 * MINUTE };
      const ofMinutes = await series.read({ ...range, stepSeconds: 60 });
      expect(successes(ofMinutes.points)).toEqual([3, 0, 4]);
      expect(ofMinutes.points.map(({ at }) => at)).toEqual([
        START,
        START + MINUTE,
        START + 2 * MINUTE,
      ]);
      expect(ofMinutes.total.outcomes).toEqual(new Map([['success', 7]]));
      const ofHours = await series.read({ ...range, to: START + 2 * HOUR, stepSeconds: 3600 });
      expect(successes(ofHours.points)).toEqual([7, 8]);
      const whole = await series.read({ ...range, to: START + 2 * HOUR, stepSeconds: 7200 });
      expect(successes(whole.points)).toEqual([15]);
      const steps = await series.read({ ...range, from: START + 1, stepSeconds: 120 });
      expect(successes(steps.points)).toEqual([3, 4]);
    });

    test.each([
      [3600, 60, 61],
      [24 * 3600, 900, 97],
      [7 * 24 * 3600, 3600, 169],
      [30 * 24 * 3600, 3 * 3600, 241],
    ])('the last %p s have room in steps of %p s', async (seconds, stepSeconds, length) => {
      const { app, series } = open();
      await series.add(app, counted(1));
      const to = START + 7;
      const { points } = await series.read({ app, from: to - seconds * 1000, to, stepSeconds });
      expect(points).toHaveLength(length);
      expect(successes(points.slice(-1))).toEqual([1]);
    });

    test('another app, and a range without traffic, have no counts', async () => {
      const { app, series } = open();
      await series.add(app, counted(1));
      const range = { from: START - HOUR, to: START, stepSeconds: 60 };
      const other = await series.read({ ...range, app, to: START });
      expect(successes(other.points)).toEqual(Array.from({ length: 60 }, () => 0));
      const { total } = await series.read({ ...range, app: `${app}-2`, to: START + MINUTE });
      expect([...total.outcomes, ...total.clients]).toEqual([]);
    });

    test('everything that several processes add at the same time is counted', async () => {
      const { app, series } = open();
      const run = (client: string) =>
        promisify(execFile)(process.execPath, [
          programFile,
          ...[storeUrl(), app, String(START), '25', client],
        ]);
      await Promise.all([run('one'), run('two'), run('one')]);
      const { total } = await series.read({ app, from: START, to: START + 1, stepSeconds: 60 });
      expect(total.outcomes).toEqual(new Map([['success', 150]]));
      expect(total.clients).toEqual(
        new Map([
          ['one', 100],
          ['two', 50],
        ]),
      );
      const hours = await series.read({ app, from: START, to: START + 1, stepSeconds: 3600 });
      expect(hours.total.outcomes).toEqual(new Map([['success', 150]]));
    });

    test('a cell keeps its largest clients, counts the others together, and stays small', async () => {
      const { app, series, store } = open();
      const names = Array.from({ length: 500 }, (_, number) => `${number}-`.padEnd(128, '"'));
      const clients = new Map(names.map((name, number) => [name, number + 1]));
      await series.add(app, { ...counted(1), clients, failingClients: clients, reasons: clients });
      await series.add(app, { clients: new Map([['__proto__', 1000]]) });
      const { total } = await series.read({ app, from: START, to: START + 1, stepSeconds: 60 });
      const kept = [...total.clients];
      expect(kept).toHaveLength(17);
      expect(kept[0]).toEqual(['__proto__', 1000]);
      expect(kept[1]).toEqual([names[499], 500]);
      expect(kept[15]).toEqual([names[485], 486]);
      const all = (500 * 501) / 2 + 1000;
      const named = kept.slice(0, 16).reduce((sum, [, count]) => sum + count, 0);
      expect(kept[16]).toEqual([REST, all - named]);
      const cell = await store.get(`time-series:${app}:minute:${START / MINUTE}`);
      expect(Buffer.byteLength(cell ?? '')).toBeLessThan(16_384);
    });

    test('a damaged cell counts as empty, and the next write replaces it', async () => {
      const { app, series, store } = open();
      await store.set(`time-series:${app}:minute:${START / MINUTE}`, '{"groups":{"outcomes":7}}');
      const read = () => series.read({ app, from: START, to: START + 1, stepSeconds: 60 });
      expect((await read()).total.outcomes.size).toBe(0);
      await series.add(app, counted(3));
      expect((await read()).total.outcomes).toEqual(new Map([['success', 3]]));
    });

    test('a write of which the reply was lost is not counted twice', async () => {
      const { app, store } = open();
      const denied = new Set<string>();
      const lossy = wrappedStore(store, async (run, operation, key) => {
        const result = await run();
        if (operation === 'replace' && !denied.has(key)) {
          denied.add(key);
          return false;
        }
        return result;
      });
      const series = createTimeSeries({ store: lossy, now: () => START });
      await series.add(app, counted(1));
      await series.add(app, counted(2));
      expect(denied.size).toBe(2);
      const { total } = await series.read({ app, from: START, to: START + 1, stepSeconds: 60 });
      expect(total.outcomes).toEqual(new Map([['success', 3]]));
    });

    test('an old cell is read once, and a current one every time', async () => {
      const { app, clock, store, series } = open();
      await series.add(app, counted(1));
      clock.now = START + HOUR;
      await series.add(app, counted(2));
      clock.now += 40_000;
      const keys: string[] = [];
      const observed = wrappedStore(store, (run, _operation, key) => {
        keys.push(key);
        return run();
      });
      const reader = createTimeSeries({ store: observed, now: () => clock.now });
      const range = { app, from: START, to: START + HOUR + MINUTE, stepSeconds: 60 };
      await reader.read(range);
      expect(keys).toHaveLength(61);
      await reader.read(range);
      expect(keys).toHaveLength(62);
    });

    test('a cell expires: minutes after a day, hours after 30 days', async () => {
      const { app, store } = open();
      const lifetimes: unknown[] = [];
      const recorded = {
        get: store.get,
        replace: store.replace,
        claim: (key: string, owner: string, ttlSeconds: number) => {
          lifetimes.push([key.split(':')[2], ttlSeconds / 3600]);
          return store.claim(key, owner, ttlSeconds);
        },
      };
      await createTimeSeries({ store: recorded as typeof store, now: () => START }).add(
        app,
        counted(1),
      );
      expect(lifetimes).toEqual([
        ['minute', 25],
        ['hour', 31 * 24],
      ]);
    });

    test('a store that is unavailable rejects the write and the read', async () => {
      const closed = createStore(storeUrl());
      await closed.close();
      const series = createTimeSeries({ store: closed, now: () => START });
      await expect(series.add('app', counted(1))).rejects.toThrow(StoreUnavailableError);
      await expect(
        series.read({ app: 'app', from: START, to: START + 1, stepSeconds: 60 }),
      ).rejects.toThrow(StoreUnavailableError);
    });
  },
  storeEngines,
);
