// requires: redis-server
import { randomBytes } from 'node:crypto';
import { createStore, type Store, StoreUnavailableError } from '@gatehouse/store';
import { integrationEngines, startStoreEngine, until } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { assertMasterKeyFits, openIdentity } from '../src/index.ts';
import { loadSigningKeys } from '../src/secrets/signing-keys.ts';

const CANARY = 'master-key-canary';
const refusal = /MASTER_KEY_FILE.*names a key that differs from the master key of this store/s;

describe.each(integrationEngines)('the check of the master key on %s', (engineName) => {
  const [right, other] = [randomBytes(32), randomBytes(32)];
  let engine: Awaited<ReturnType<typeof startStoreEngine>>;
  let stores: Store[];

  /** Opens a separate connection, like another process. */
  function open(masterKey: Buffer) {
    const store = createStore(engine.storeUrl);
    stores.push(store);
    return openIdentity({ store, masterKey });
  }
  const check = (masterKey: Buffer) => assertMasterKeyFits(open(masterKey));

  beforeEach(async () => {
    engine = await startStoreEngine(engineName);
    stores = [];
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await engine.stop();
  });

  test('an empty store belongs to the first key that opens it, and rejects all others', async () => {
    await check(right);
    await check(right);
    await expect(check(other)).rejects.toThrow(refusal);
    await check(right);
    expect(await engine.storedText()).not.toContain(right.toString('hex'));
  });

  test('if processes start together with two keys, those with one of the keys succeed', async () => {
    const keys = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? right : other));
    const identities = keys.map(open);
    // On a busy machine, 12 connections take longer to open than one operation may take.
    await Promise.all(identities.map(({ store }) => until(() => store.get(CANARY))));
    const outcomes = await Promise.allSettled(identities.map(assertMasterKeyFits));
    const letIn = (key: Buffer) =>
      outcomes.filter(({ status }, i) => keys[i] === key && status === 'fulfilled').length;
    expect([letIn(right), letIn(other)].toSorted()).toEqual([0, 6]);
    for (const outcome of outcomes.filter(({ status }) => status === 'rejected')) {
      expect(String((outcome as PromiseRejectedResult).reason)).toMatch(refusal);
    }
  });

  test('damaged signing keys are no reason to reject the right master key', async () => {
    await check(right);
    await loadSigningKeys('gateway', open(other));
    await check(right);
    await expect(loadSigningKeys('gateway', open(right))).rejects.toBeInstanceOf(
      StoreUnavailableError,
    );
    await expect(check(other)).rejects.toThrow(refusal);
  });

  test('a canary that was changed or moved matches no key', async () => {
    const { store, sealer } = open(right);
    await store.set(CANARY, sealer.seal('The master key fits.', 'elsewhere'));
    await expect(check(right)).rejects.toThrow(refusal);
  });
});
