import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStore, type StoreOptions } from '../../src/create-store.ts';
import { type Store, StoreUnavailableError } from '../../src/store.ts';
import { describeCollectionsContract } from './collections-contract.ts';
import type { ContractSubject } from './contract-subject.ts';
import { describeCountersContract } from './counters-contract.ts';
import { describeProcessesContract } from './processes-contract.ts';
import { describeTextContract } from './text-contract.ts';
import { describeValuesContract } from './values-contract.ts';

/** A running engine, initially empty. */
export interface StoreEngine {
  readonly url: string;
  stop(): Promise<void>;
}

/** The suite that every engine of the store must pass. */
export function describeStoreContract(
  name: string,
  startEngine: () => Promise<StoreEngine>,
  options: StoreOptions = {},
): void {
  describe(`the store contract on ${name}`, () => {
    let engine: StoreEngine | undefined;
    let store: Store | undefined;
    const subject: ContractSubject = {
      url: () => defined(engine).url,
      store: () => defined(store),
      freshKey: (kind = 'key') => `contract:${kind}:${randomUUID()}`,
    };

    beforeAll(async () => {
      engine = await startEngine();
      store = createStore(engine.url, options);
    });

    afterAll(async () => {
      await store?.close();
      await engine?.stop();
    });

    describeValuesContract(subject);
    describeCountersContract(subject);
    describeCollectionsContract(subject);
    describeTextContract(subject);
    describeProcessesContract(subject);
    describeLifecycle(subject);
  });
}

/** Starts every operation once. */
export const useAll = (store: Store, key: string) =>
  Promise.allSettled([
    store.get(key),
    store.set(key, 'text'),
    store.claim(`${key}:claim`, 'owner'),
    store.replace(key, 'text', 'other'),
    store.delete([key]),
    store.increment(`${key}:counter`, 60),
    store.decrement(`${key}:counter`),
    store.addToIndex(`${key}:index`, 'member', Date.now() + 1000),
    store.removeFromIndex(`${key}:index`, 'member'),
    store.members(`${key}:index`),
    store.membersWithPrefix(`${key}:index`, '', 1),
    store.append(`${key}:log`, ['entry'], 10),
    store.read(`${key}:log`, 1),
    store.ping(),
  ]);

function describeLifecycle({ url, store, freshKey }: ContractSubject): void {
  describe('lifecycle of a store', () => {
    test('ping returns the version and the clock of every server', async () => {
      const { servers } = await store().ping();
      expect(servers.length).toBeGreaterThan(0);
      for (const { version, time } of servers) {
        expect(version).toMatch(/^\d+\.\d+/);
        expect(Math.abs(time - Date.now())).toBeLessThan(60_000);
      }
    });

    test('ping writes, reads, and returns the space that the engine uses', async () => {
      const { usedBytes, maximumBytes } = await store().ping();
      expect(usedBytes).toBeGreaterThan(0);
      expect(maximumBytes ?? Number.POSITIVE_INFINITY).toBeGreaterThan(usedBytes);
    });

    test('after close, every operation throws StoreUnavailableError, and close does nothing', async () => {
      const closed = createStore(url());
      await closed.ping();
      await closed.close();
      await closed.close();
      for (const outcome of await useAll(closed, freshKey())) {
        expect(outcome).toMatchObject({ reason: expect.any(StoreUnavailableError) });
      }
    });
  });
}

function defined<Value>(value: Value | undefined): Value {
  if (value === undefined) {
    throw new Error('The engine of the contract has not started.');
  }
  return value;
}
