// requires: redis-server

import { createHash, randomBytes } from 'node:crypto';
import type { Sealer } from '@gatehouse/identity';
import { createStore, type Store } from '@gatehouse/store';
import { type StoreEngine, startStoreEngine, storeEngines } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OidcAdapter } from '../src/provider/oidc-adapter.ts';
import { createRedemptions } from '../src/provider/redemptions.ts';

describe.each(storeEngines)('the provider’s records on %s', (engine) => {
  let running: StoreEngine;
  let store: Store;

  beforeAll(async () => {
    running = await startStoreEngine(engine);
    store = createStore(running.storeUrl);
  });
  afterAll(async () => {
    await store.close();
    await running.stop();
  });

  const adapterOf = (model: string, over: Store = store) =>
    new OidcAdapter(model, {
      store: over,
      credentialHash: (value) => createHash('sha256').update(value).digest('base64url'),
      sealer: {} as Sealer,
      singleUse: createRedemptions(over),
      findLiveHolder: async () => ({ client: undefined, user: undefined }),
    });

  /** The store, with something that happens right before one of its operations. */
  const interrupted = (operation: keyof Store, interrupt: () => Promise<void>): Store => {
    let isDone = false;
    return new Proxy(store, {
      get(target, property) {
        const member = Reflect.get(target, property, target) as (...all: unknown[]) => unknown;
        return async (...parameters: unknown[]) => {
          if (property === operation && !isDone) {
            isDone = true;
            await interrupt();
          }
          return member.apply(target, parameters);
        };
      },
    });
  };

  it.each(['addToIndex', 'set', 'get'] as const)(
    'CR-04 a token that is written while its grant ends is taken back: before %s',
    async (operation) => {
      for (const model of ['AccessToken', 'RefreshToken']) {
        const grantId = randomBytes(8).toString('hex');
        const token = randomBytes(8).toString('hex');
        const endGrant = () => adapterOf('Grant').destroy(grantId);
        const payload = { grantId, kind: model, clientId: 'web' };
        await expect(
          adapterOf(model, interrupted(operation, endGrant)).upsert(token, payload, 60),
        ).rejects.toThrow('invalid_grant');
        expect(await adapterOf(model).find(token)).toBeUndefined();
      }
    },
  );

  it('CR-04 a token that was written before its grant ends goes with it', async () => {
    const adapter = adapterOf('AccessToken');
    await adapter.upsert('token', { grantId: 'grant', kind: 'AccessToken' }, 60);
    expect(await adapter.find('token')).toBeDefined();
    await adapterOf('Grant').destroy('grant');
    expect(await adapter.find('token')).toBeUndefined();
  });
});
