// requires: redis-server

import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  endedSessionKey,
  grantMembersKey,
  LONGEST_UNLISTED_SECONDS,
  openIdentity,
  userGrantsKey,
  userSessionsKey,
} from '@gatehouse/identity';
import type { Store } from '@gatehouse/store';
import { listen, wrappedStore } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import Provider, { type ClientMetadata } from 'oidc-provider';
import { createOidcAdapter, recordKey, sealedModels } from '../src/provider/oidc-adapter.ts';
import { createRedemptions, type SingleUse } from '../src/provider/single-use.ts';
import { ANONYMOUS_SESSION, timesToLive } from '../src/provider/times-to-live.ts';
import { EXPIRED_DEVICE_CODE_SECONDS, lifetimes } from '../src/requests/lifetimes.ts';
import { openStores } from './server.ts';

const newId = () => randomBytes(8).toString('hex');
const stores = await openStores();

describe.each(stores)('the records of the provider on $engine', ({ system: { store } }) => {
  const credentialHash = (value: string) => createHash('sha256').update(value).digest('base64url');
  const keyOf = (model: string, id: string) => recordKey(model, id, credentialHash);
  const masterKey = randomBytes(32);
  const damaged: string[] = [];
  const adapterOf = (
    model: string,
    over: Store = store,
    singleUse: SingleUse = createRedemptions(over),
  ) =>
    createOidcAdapter(model, {
      store: over,
      credentialHash,
      sealer: openIdentity({ store, masterKey }).sealer,
      singleUse,
      findLiveHolder: async () => ({ client: undefined, user: undefined }),
      onDamagedRecord: (kind, key) => damaged.push(`${kind} ${key}`),
    });

  /** The store, with an event right before one of its operations. */
  const interrupted = (operation: keyof Store, interrupt: () => Promise<void>): Store => {
    let isDone = false;
    return wrappedStore(store, async (run, current) => {
      if (current === operation && !isDone) {
        isDone = true;
        await interrupt();
      }
      return run();
    });
  };

  test.each(['addToIndex', 'set', 'get'] as const)(
    'do not keep a token that is written while its grant ends: before %s',
    async (operation) => {
      for (const model of ['AccessToken', 'RefreshToken']) {
        const [grantId, token] = [newId(), newId()];
        const over = interrupted(operation, () => adapterOf('Grant').destroy(grantId));
        const payload = { grantId, kind: model, clientId: 'web' };
        const written = adapterOf(model, over).upsert(token, payload, 60);
        await expect(written).rejects.toThrow('invalid_grant');
        expect(await adapterOf(model).find(token)).toBeUndefined();
      }
    },
  );

  test.each(['set', 'get'] as const)(
    'keep a session ended that is written while it ends: before %s',
    async (operation) => {
      const [id, uid] = [newId(), newId()];
      const over = interrupted(operation, async () => {
        await store.set(endedSessionKey(credentialHash(uid)), '', 60);
        await adapterOf('Session').destroy(id);
      });
      const written = adapterOf('Session', over).upsert(id, { uid }, 60);
      await expect(written).rejects.toThrow('invalid_request');
      expect(await adapterOf('Session').find(id)).toBeUndefined();
    },
  );

  test('do not keep a token after the end of its grant', async () => {
    const adapter = adapterOf('AccessToken');
    await adapter.upsert('token', { grantId: 'grant', kind: 'AccessToken' }, 60);
    expect(await adapter.find('token')).toBeDefined();
    await adapterOf('Grant').destroy('grant');
    expect(await adapter.find('token')).toBeUndefined();
  });

  test.each(['AuthorizationCode', 'RefreshToken', 'DeviceCode', 'PushedAuthorizationRequest'])(
    'can be consumed once, and are found as consumed after that: %s',
    async (model) => {
      const used = new Set<string>();
      const adapter = adapterOf(model, store, {
        isRedeemed: async ({ id }) => used.has(id),
        claim: async ({ id }) => !used.has(id) && used.add(id).has(id),
      });
      const id = newId();
      await adapter.upsert(id, { kind: model, clientId: 'web' }, 60);
      expect(await adapter.find(id)).not.toHaveProperty('consumed');
      await adapter.consume(id);
      expect(await adapter.find(id)).toMatchObject({ consumed: true });
      await expect(adapter.consume(id)).rejects.toThrow(/invalid_(grant|request_uri)/);
    },
  );

  test.each(['AccessToken', 'DeviceCode', 'Grant', 'Session'])(
    'are completely written or deleted when an operation returns: %s',
    async (model) => {
      let pending = 0;
      const counting = wrappedStore(store, async (run, operation) => {
        pending += 1;
        // A read that is faster than a write must not hide that nothing awaits the write.
        await (operation === 'get' ? undefined : sleep(30));
        const result = await run();
        pending -= 1;
        return result;
      });
      const id = newId();
      const names = { grantId: id, accountId: id, uid: id, userCode: id };
      const adapter = adapterOf(model, counting);
      await adapter.upsert(id, { ...names, kind: model, loginTs: 1 }, 60);
      expect(pending).toBe(0);
      await adapter.destroy(id);
      expect(pending).toBe(0);
    },
  );

  test('are in the indexes of their grant and user', async () => {
    const [id, grantId, accountId] = [newId(), newId(), newId()];
    for (const model of ['AccessToken', 'Grant', 'Session']) {
      const payload = { grantId, accountId, uid: id, loginTs: 1, kind: model };
      await adapterOf(model).upsert(id, payload, 60);
    }
    expect(await store.members(grantMembersKey(grantId))).toContain(keyOf('AccessToken', id));
    expect(await store.members(userGrantsKey(accountId))).toEqual([id]);
    expect(await store.members(userSessionsKey(accountId))).toEqual([keyOf('Session', id)]);
  });

  const aliasKey = (model: string, kind: string) => (name: string) =>
    `oidc:${model}:${kind}:${credentialHash(name)}`;
  test.each([
    ['Session', 'find', (id: string) => keyOf('Session', id)],
    ['Interaction', 'find', (id: string) => keyOf('Interaction', id)],
    ['DeviceCode', 'find', (id: string) => keyOf('DeviceCode', id)],
    ['PushedAuthorizationRequest', 'find', (id: string) => keyOf('PushedAuthorizationRequest', id)],
    ['Session', 'findByUid', aliasKey('Session', 'uid')],
    ['DeviceCode', 'findByUserCode', aliasKey('DeviceCode', 'userCode')],
  ] as const)('do not open a %s at the key of another one by %s', async (model, find, keyAt) => {
    const adapter = adapterOf(model);
    const [mine, theirs] = [newId(), newId()];
    for (const name of [mine, theirs]) {
      await adapter.upsert(name, { uid: name, userCode: name, accountId: name, loginTs: 1 }, 60);
    }
    await store.set(keyAt(mine), (await store.get(keyAt(theirs))) ?? '', 60);
    expect(await adapter[find](mine)).toBeUndefined();
    expect(damaged.splice(0)).toEqual([`${model} ${keyAt(mine)}`]);
    expect(await adapter[find](theirs)).toMatchObject({ jti: theirs });
  });

  /** The library knows the current request only at an endpoint. */
  const client: ClientMetadata = {
    ...{ client_id: 'app', grant_types: ['redeem'], token_endpoint_auth_method: 'none' },
    ...{ response_types: [], redirect_uris: [] },
  };

  /** Redeems the code in a request. Returns whether the request won, and whether it was marked. */
  async function redeem(code: { readonly id: string; readonly key: string }) {
    const redemptions = createRedemptions(store);
    const provider = new Provider('http://localhost', { clients: [client] });
    provider.registerGrantType('redeem', async (context) => {
      const isWon = await redemptions.claim(code, 60);
      await redemptions.complete(context.req);
      const isMarked = (await store.get(`redeemed:${code.key}`)) !== undefined;
      context.body = { isWon, isMarked };
    });
    const server = createServer(provider.callback());
    const port = await listen(server);
    const body = new URLSearchParams({ grant_type: 'redeem', client_id: 'app' });
    const reply = await fetch(`http://127.0.0.1:${port}/token`, { method: 'POST', body });
    server.closeAllConnections();
    server.close();
    return reply.json();
  }

  test('a redemption is marked when the reply of the request that won is ready, and by no other', async () => {
    const code = () => {
      const id = newId();
      return { id, key: `record:${id}` };
    };
    expect(await redeem(code())).toEqual({ isWon: true, isMarked: true });
    const lost = code();
    // Outside a request there is no reply, so nothing is marked.
    expect(await createRedemptions(store).claim(lost, 60)).toBe(true);
    expect(await redeem(lost)).toEqual({ isWon: false, isMarked: false });
  });
});

test('encrypted records that a rotation does not find expire before master-key rotate --finish', () => {
  /** How long a record can be used. Users' sessions are listed. */
  const usable: Readonly<Record<string, number>> = {
    Session: ANONYMOUS_SESSION,
    Interaction: Math.max(
      timesToLive(false).Interaction(undefined, {}),
      timesToLive(false).Interaction(undefined, { session: { accountId: 'user-1' } }),
    ),
    DeviceCode: 30 * 60 + EXPIRED_DEVICE_CODE_SECONDS,
    PushedAuthorizationRequest: lifetimes.PushedAuthorizationRequest,
  };
  expect(Object.keys(usable).sort()).toEqual([...sealedModels].sort());
  expect(Math.max(...Object.values(usable))).toBe(LONGEST_UNLISTED_SECONDS);
});
