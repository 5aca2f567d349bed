// requires: redis-server
// runs alone: it has deadlines of seconds under load

import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedisServer } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createStore, type Store, StoreUnavailableError } from '../../src/index.ts';
import type { StoreState } from '../../src/store-watch.ts';

/** The port guarantees 500 ms. The rest allows for a busy machine. test/faults measures the time. */
const ANSWER_MILLISECONDS = 1400;
const RECOVERY_MILLISECONDS = 6000;

let redis: RedisServer;
let store: Store;
let states: StoreState[];

beforeEach(async () => {
  redis = await startRedisServer({ arguments: ['--appendonly', 'yes'] });
  states = [];
  // A further reason of the same outage is reported with the same state.
  const onStateChange = (state: StoreState) => states.at(-1) === state || states.push(state);
  store = createStore(redis.url, { onStateChange });
});

afterEach(async () => {
  await store.close();
  await redis.stop();
});

describe('a Redis that is killed', () => {
  test('fails operations in time, in flight and afterwards, and recovers', async () => {
    await store.set('key', 'value');
    const inFlight = Array.from({ length: 20 }, () => outcome(store.get('key')));
    await redis.kill();
    for (const { error, milliseconds } of await Promise.all(inFlight)) {
      expect(error === undefined || error instanceof StoreUnavailableError).toBe(true);
      expect(milliseconds).toBeLessThan(ANSWER_MILLISECONDS);
    }
    while (states.length === 0) {
      await expectUnavailable(store);
      await sleep(5);
    }

    await redis.restart();
    await expectRecovery(store);
    expect(await store.get('key')).toBe('value');
    expect(states).toEqual(['unavailable', 'available']);
  });

  test('does not apply a write after the outage in which it failed', async () => {
    await store.ping();
    await redis.kill();
    const attempts = Array.from({ length: 1000 }, () => outcome(store.increment('counter', 60)));
    for (const { error } of await Promise.all(attempts)) {
      expect(error).toBeInstanceOf(StoreUnavailableError);
    }
    await redis.restart();
    await expectRecovery(store);
    expect((await store.increment('counter', 60, 0)).count).toBe(0);
  });
});

describe('a Redis that is frozen', () => {
  test('fails every operation in time, and recovers', async () => {
    await store.set('key', 'value');
    redis.freeze();
    const started = performance.now();
    while (performance.now() - started < 3000) {
      await expectUnavailable(store);
      await sleep(50);
    }
    redis.thaw();
    await expectRecovery(store);
    expect(await store.get('key')).toBe('value');
    expect(states).toEqual(['unavailable', 'available']);
  });

  test('meets the deadline of each of many concurrent operations of every kind', async () => {
    await store.ping();
    redis.freeze();
    const attempts = Array.from({ length: 50 }, (_, number) => [
      outcome(store.get('key')),
      outcome(store.claim('claim', `owner-${number}`, 60)),
      outcome(store.increment('counter', 60)),
      outcome(store.delete(['one', 'two', 'three'])),
      outcome(store.members('index')),
      outcome(store.ping()),
    ]).flat();
    for (const { error, milliseconds } of await Promise.all(attempts)) {
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(milliseconds).toBeLessThan(ANSWER_MILLISECONDS);
    }
    redis.thaw();
    await expectRecovery(store);
  });

  test('fails operations in time even if it is frozen at start, and recovers', async () => {
    redis.freeze();
    const early = createStore(redis.url);
    await expectUnavailable(early);
    await sleep(1500);
    await expectUnavailable(early);
    redis.thaw();
    await expectRecovery(early);
    await early.close();
  });
});

describe('a Redis that is down at start', () => {
  test('lets the process start, fails operations in time, and recovers', async () => {
    await redis.kill();
    const early = createStore(redis.url, { onStateChange: (state) => states.push(state) });
    await expectUnavailable(early);
    await sleep(1500);
    await expectUnavailable(early);
    await redis.restart();
    await expectRecovery(early);
    await early.close();
  });

  test('lets the store close before it has ever connected', async () => {
    await redis.kill();
    const early = createStore(redis.url);
    const waiting = outcome(early.get('key'));
    await early.close();
    expect((await waiting).error).toBeInstanceOf(StoreUnavailableError);
  });
});

describe('a Redis that replies with errors', () => {
  test('READONLY is StoreUnavailableError, never success, until the role changes back', async () => {
    await store.set('key', 'value');
    await redis.command('REPLICAOF', '127.0.0.1', '1');
    expect((await outcome(store.claim('claim', 'owner', 60))).error).toBeInstanceOf(
      StoreUnavailableError,
    );
    await redis.command('REPLICAOF', 'NO', 'ONE');
    await expectRecovery(store);
    expect(await store.claim('claim', 'owner', 60)).toBe('owner');
  });

  test('a counter that lost its window gets a new one instead of counting forever', async () => {
    await redis.command('SET', 'counter', '7');
    const counter = await store.increment('counter', 60);
    expect(counter.count).toBe(8);
    expect(counter.resetsAt).toBeGreaterThan(Date.now() + 50_000);
    expect(await redis.command('TTL', 'counter')).toMatch(/^:(59|60)/);
  });

  test('an index key outlives its longest member, but does not stay forever', async () => {
    await store.addToIndex('index', 'long', Date.now() + 600_000);
    await store.addToIndex('index', 'short', Date.now() + 1000);
    const seconds = Number((await redis.command('TTL', 'index')).slice(1));
    expect(seconds).toBeGreaterThan(600);
    expect(seconds).toBeLessThan(700);
    await store.addToIndex('index', 'forever', Number.MAX_SAFE_INTEGER);
    expect(await redis.command('TTL', 'index')).toMatch(/^:-1/);
  });

  test('a key of another kind is StoreUnavailableError and keeps its data', async () => {
    await store.append('key', ['entry'], 5);
    const { error } = await outcome(store.get('key'));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(await store.read('key', 5)).toEqual(['entry']);
  });
});

async function outcome(operation: Promise<unknown>) {
  const started = performance.now();
  const error = await operation.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, milliseconds: performance.now() - started };
}

async function expectUnavailable(subject: Store): Promise<void> {
  const { error, milliseconds } = await outcome(subject.get('key'));
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(milliseconds).toBeLessThan(ANSWER_MILLISECONDS);
}

async function expectRecovery(subject: Store): Promise<void> {
  const started = performance.now();
  while ((await outcome(subject.ping())).error !== undefined) {
    expect(performance.now() - started).toBeLessThan(RECOVERY_MILLISECONDS);
    await sleep(10);
  }
}
