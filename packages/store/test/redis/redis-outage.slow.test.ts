// requires: redis-server
// runs alone: it has deadlines of seconds under load

import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type RedisServer, startRedisServer } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  createStore,
  type Store,
  type StoreState,
  StoreUnavailableError,
} from '../../src/index.ts';

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

  test('fails operations immediately, before the deadline, after a while', async () => {
    await store.ping();
    await redis.kill();
    await sleep(1000);
    const durations: number[] = [];
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const { error, milliseconds } = await outcome(store.get('key'));
      expect(error).toBeInstanceOf(StoreUnavailableError);
      durations.push(milliseconds);
    }
    // A few of them may wait for an attempt to reconnect, or for a busy machine.
    const median = durations.toSorted((one, other) => one - other)[25];
    expect(median).toBeLessThan(100);
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

  test('keeps every acknowledged write if it has an append-only file', async () => {
    for (let number = 0; number < 200; number += 1) {
      await store.claim(`claim-${number}`, 'owner', 60);
    }
    await redis.restart();
    await expectRecovery(store);
    for (let number = 0; number < 200; number += 1) {
      expect(await store.claim(`claim-${number}`, 'another', 60)).toBe('owner');
    }
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

  test('meets the deadline of operations that arrive while a batch hangs', async () => {
    await store.set('key', 'value');
    redis.freeze();
    const attempts: ReturnType<typeof outcome>[] = [];
    for (let number = 0; number < 50; number += 1) {
      attempts.push(outcome(store.get('key')), outcome(store.increment('counter', 60)));
      await sleep(20);
    }
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

  test('scripts continue to work after SCRIPT FLUSH, even many concurrently', async () => {
    await store.increment('counter', 60);
    await redis.command('SCRIPT', 'FLUSH');
    await Promise.all(Array.from({ length: 20 }, () => store.increment('counter', 60)));
    expect((await store.increment('counter', 60, 0)).count).toBe(21);
    await redis.command('SCRIPT', 'FLUSH');
    await store.append('log', ['entry'], 5);
    expect(await store.read('log', 5)).toEqual(['entry']);
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

describe('a Redis with a password', () => {
  test('accepts the right password, and a wrong password does not appear in errors', async () => {
    const secured = await startRedisServer({ password: 'right:p@ss/word' });
    const trusted = createStore(secured.url);
    await trusted.set('key', 'value');
    expect(await trusted.get('key')).toBe('value');
    await trusted.close();

    const marker = 'canary-3f9a1c';
    const stranger = createStore(`redis://default:${marker}@127.0.0.1:${secured.port}`);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { error } = await outcome(stranger.set('key', marker));
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(marker);
      await sleep(100);
    }
    await stranger.close();
    await secured.stop();
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
