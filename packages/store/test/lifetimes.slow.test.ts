// requires: redis-server
import { randomUUID } from 'node:crypto';
import { type StoreEngine, startStoreEngine, storeEngines } from '@gatehouse/testing';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { createStore, type Store } from '../src/index.ts';
import { describeLifetimesContract } from './contract/lifetimes-contract.ts';

describe.each(storeEngines)('the store contract on %s', (name) => {
  let engine: StoreEngine;
  let store: Store;

  beforeAll(async () => {
    engine = await startStoreEngine(name);
    store = createStore(engine.storeUrl);
  });
  afterAll(async () => {
    await store.close();
    await engine.stop();
  });

  describeLifetimesContract({
    url: () => engine.storeUrl,
    store: () => store,
    freshKey: (kind = 'key') => `contract:${kind}:${randomUUID()}`,
  });
});
