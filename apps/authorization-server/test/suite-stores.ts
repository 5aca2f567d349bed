import { createStore, type Store } from '@gatehouse/store';
import { startStoreEngine, storeEngines } from '@gatehouse/testing';
import { type OnEngine, onEachEngine } from '@gatehouse/testing/suite';
import { afterAll } from '@jest/globals';

export interface SuiteStore {
  readonly store: Store;
  readonly storeUrl: string;
}

/** Opens a store on each engine for the tests of a file. */
export function openSuiteStores(): Promise<readonly OnEngine<SuiteStore>[]> {
  return onEachEngine(async (engine) => {
    const running = await startStoreEngine(engine);
    const store = createStore(running.storeUrl);
    afterAll(async () => {
      await store.close();
      await running.stop();
    });
    return { store, storeUrl: running.storeUrl };
  }, storeEngines);
}
