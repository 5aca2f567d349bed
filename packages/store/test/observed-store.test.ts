import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createStore, storeOperations } from '../src/index.ts';
import { describeStoreContract } from './contract/store-contract.ts';

let directory = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-observed-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describeStoreContract(
  'SQLite, observed',
  async () => ({ url: `sqlite:${join(directory, 'contract.db')}`, stop: async () => undefined }),
  { observer: () => undefined },
);

test('an observer is notified of every operation once, with its duration and whether it failed', async () => {
  const calls: { operation: string; seconds: number; failed: boolean }[] = [];
  const store = createStore(`sqlite:${join(directory, 'observed.db')}`, {
    observer: (operation, seconds, failed) => calls.push({ operation, seconds, failed }),
  });
  const useAll = () =>
    Promise.allSettled([
      store.get('value'),
      store.set('value', 'text'),
      store.claim('claim', 'owner'),
      store.replace('value', 'value', 'other'),
      store.delete(['value']),
      store.increment('counter', 60),
      store.decrement('counter'),
      store.addToIndex('index', 'member', Date.now() + 1000),
      store.removeFromIndex('index', 'member'),
      store.members('index'),
      store.append('log', ['entry'], 10),
      store.read('log', 1),
      store.ping(),
    ]);
  await useAll();
  expect(calls.map(({ operation }) => operation).sort()).toEqual([...storeOperations].sort());
  expect(calls.filter(({ failed }) => failed)).toEqual([]);
  expect(calls.filter(({ seconds }) => !(seconds > 0))).toEqual([]);

  await store.close();
  calls.length = 0;
  await useAll();
  expect(calls).toHaveLength(storeOperations.length);
  expect(calls.filter(({ failed }) => !failed)).toEqual([]);
});
