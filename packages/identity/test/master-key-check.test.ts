// requires: redis-server
import { randomBytes } from 'node:crypto';
import { createStore, type Store, StoreUnavailableError } from '@gatehouse/store';
import { freePort, startStoreEngine, storeEngines } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { assertMasterKeyFits, loadSigningKey, openIdentity } from '../src/index.ts';
import { newClient } from './on-both-engines.ts';

const CANARY = 'master-key-canary';
const refusal = /MASTER_KEY_FILE.*names another key than the one this store is sealed with/s;

describe.each(storeEngines)('the check of the master key on %s', (engineName) => {
  const [right, other] = [randomBytes(32), randomBytes(32)];
  let engine: Awaited<ReturnType<typeof startStoreEngine>>;
  let stores: Store[];

  /** As another process has it: over a connection of its own. */
  function open(masterKey: Buffer) {
    const store = createStore(engine.storeUrl);
    stores.push(store);
    return openIdentity({ store, masterKey });
  }
  const check = (masterKey: Buffer) => assertMasterKeyFits(open(masterKey));
  const canary = () => open(right).store.get(CANARY);

  beforeEach(async () => {
    engine = await startStoreEngine(engineName);
    stores = [];
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await engine.stop();
  });

  test('SL-02 an empty store belongs to the first key that opens it, and to no other one', async () => {
    await check(right);
    await check(right);
    await expect(check(other)).rejects.toThrow(refusal);
    await check(right);
    expect(await engine.storedText()).not.toContain(right.toString('hex'));
  });

  test('of many that start at once with two keys those with one are let in', async () => {
    const keys = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? right : other));
    const outcomes = await Promise.allSettled(keys.map(check));
    const letIn = (key: Buffer) =>
      outcomes.filter(({ status }, i) => keys[i] === key && status === 'fulfilled').length;
    expect([letIn(right), letIn(other)].toSorted()).toEqual([0, 6]);
    for (const outcome of outcomes.filter(({ status }) => status === 'rejected')) {
      expect(String((outcome as PromiseRejectedResult).reason)).toMatch(refusal);
    }
  });

  test.each([
    ['authorization-server', 'RS256'],
    ['gateway', 'EdDSA'],
  ] as const)(
    'a store of an earlier version is known by the key of the %s',
    async (purpose, algorithm) => {
      await loadSigningKey(purpose, algorithm, open(right));
      await expect(check(other)).rejects.toThrow(refusal);
      expect(await canary()).toBeUndefined();
      await check(right);
      expect(await canary()).toBeDefined();
      await expect(check(other)).rejects.toThrow(refusal);
    },
  );

  test('a store of an earlier version without signing keys is known by its clients', async () => {
    const { clients } = open(right);
    await clients.save(newClient({ public: true }));
    await clients.save(newClient(), 'a-secure-key-of-a-client');
    await expect(check(other)).rejects.toThrow(refusal);
    expect(await canary()).toBeUndefined();
    await check(right);
    expect(await canary()).toBeDefined();
  });

  test('clients that a command sealed with another key keep out neither servers nor commands', async () => {
    await loadSigningKey('gateway', 'EdDSA', open(right));
    await open(other).clients.save(newClient(), 'a-secure-key-of-a-client');
    await check(right);
    await expect(check(other)).rejects.toThrow(refusal);
  });

  test('signing keys that do not open are damaged, not a reason to refuse a key that fits', async () => {
    await check(right);
    await loadSigningKey('gateway', 'EdDSA', open(other));
    await check(right);
    await expect(loadSigningKey('gateway', 'EdDSA', open(right))).rejects.toBeInstanceOf(
      StoreUnavailableError,
    );
    await expect(check(other)).rejects.toThrow(refusal);
  });

  test('a canary that was altered or moved opens for no key', async () => {
    const { store, sealer } = open(right);
    await store.set(CANARY, sealer.seal('The master key fits.', 'elsewhere'));
    await expect(check(right)).rejects.toThrow(refusal);
  });
});

test('RD-01 a store that is away is no other master key', async () => {
  const store = createStore(`redis://127.0.0.1:${await freePort()}`);
  const identity = openIdentity({ store, masterKey: randomBytes(32) });
  await expect(assertMasterKeyFits(identity)).rejects.toBeInstanceOf(StoreUnavailableError);
  await store.close();
});
