import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStore, type StoreOptions } from '../../src/create-store.ts';
import { type Store, StoreUnavailableError } from '../../src/store.ts';
import { describeCollectionsContract } from './collections-contract.ts';
import type { ContractSubject } from './contract-subject.ts';
import { describeCountersContract } from './counters-contract.ts';
import { describeProcessesContract } from './processes-contract.ts';
import { describeRevokingWritesContract } from './revoking-writes-contract.ts';
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
    describeRevokingWritesContract(subject);
    describeCountersContract(subject);
    describeCollectionsContract(subject);
    describeTextContract(subject);
    describeProcessesContract(subject);
    describeLifecycle(subject);
  });
}

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
      const key = freshKey();
      const attempts = [
        closed.get(key),
        closed.set(key, 'value'),
        closed.claim(key, 'owner'),
        closed.replace(key, 'value', 'other'),
        closed.delete([key]),
        closed.increment(key, 1),
        closed.decrement(key),
        closed.addToIndex(key, 'member', Date.now() + 1000),
        closed.removeFromIndex(key, 'member'),
        closed.members(key),
        closed.append(key, ['entry'], 1),
        closed.read(key, 1),
        closed.ping(),
      ];
      for (const outcome of await Promise.allSettled(attempts)) {
        expect(outcome).toMatchObject({
          status: 'rejected',
          reason: expect.any(StoreUnavailableError),
        });
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
