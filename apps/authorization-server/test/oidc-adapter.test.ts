import { wrappedStore } from '@gatehouse/testing';
// requires: redis-server

import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { grantMembersKey, openIdentity, userGrantsKey, userSessionsKey } from '@gatehouse/identity';
import type { Store } from '@gatehouse/store';
import { describe, expect, test } from '@jest/globals';
import { endedSessionKey } from '../src/provider/lifetimes.ts';
import { createOidcAdapter, recordKey } from '../src/provider/oidc-adapter.ts';
import type { SingleUse } from '../src/provider/single-use.ts';
import { createRedemptions } from '../src/provider/single-use.ts';
import { openSuiteStores } from './suite-stores.ts';

const stores = await openSuiteStores();

describe.each(stores)('the records of the provider on $engine', ({ system: { store } }) => {
  const credentialHash = (value: string) => createHash('sha256').update(value).digest('base64url');
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

  test.each(['AuthorizationCode', 'RefreshToken', 'DeviceCode', 'PushedAuthorizationRequest'])(
    'can be consumed once, and are found as consumed after that: %s',
    async (model) => {
      const used = new Set<string>();
      const adapter = adapterOf(model, store, {
        isRedeemed: async ({ id }) => used.has(id),
        claim: async ({ id }) => !used.has(id) && used.add(id).has(id),
      });
      const id = randomBytes(8).toString('hex');
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
      const id = randomBytes(8).toString('hex');
      const names = { grantId: id, accountId: id, uid: id, userCode: id };
      const adapter = adapterOf(model, counting);
      await adapter.upsert(id, { ...names, kind: model, loginTs: 1 }, 60);
      expect(pending).toBe(0);
      await adapter.destroy(id);
      expect(pending).toBe(0);
    },
  );

  test('are in the indexes of their grant and user until they expire', async () => {
    const [id, grantId, accountId] = Array.from({ length: 3 }, () =>
      randomBytes(8).toString('hex'),
    );
    const keyOf = (model: string) => recordKey(model, id ?? '', credentialHash);
    const payload = { grantId, accountId, uid: id, loginTs: 1 };
    for (const model of ['AccessToken', 'Grant', 'Session']) {
      await adapterOf(model).upsert(id ?? '', { ...payload, kind: model }, 60);
    }
    expect(await store.members(grantMembersKey(grantId ?? ''))).toContain(keyOf('AccessToken'));
    expect(await store.members(userGrantsKey(accountId ?? ''))).toEqual([id]);
    expect(await store.members(userSessionsKey(accountId ?? ''))).toEqual([keyOf('Session')]);
  });

  test('do not keep a token after the end of its grant', async () => {
    const adapter = adapterOf('AccessToken');
    await adapter.upsert('token', { grantId: 'grant', kind: 'AccessToken' }, 60);
    expect(await adapter.find('token')).toBeDefined();
    await adapterOf('Grant').destroy('grant');
    expect(await adapter.find('token')).toBeUndefined();
  });

  test.each(['set', 'get'] as const)(
    'keep a session ended that is written while it ends: before %s',
    async (operation) => {
      const [id, uid] = [randomBytes(8).toString('hex'), randomBytes(8).toString('hex')];
      const end = async () => {
        await store.set(endedSessionKey(credentialHash(uid)), '', 60);
        await adapterOf('Session').destroy(id);
      };
      await expect(
        adapterOf('Session', interrupted(operation, end)).upsert(id, { uid }, 60),
      ).rejects.toThrow('invalid_request');
      expect(await adapterOf('Session').find(id)).toBeUndefined();
    },
  );

  test.each(['Session', 'Interaction', 'DeviceCode', 'PushedAuthorizationRequest'])(
    'do not open a %s at the key of another one',
    async (model) => {
      const adapter = adapterOf(model);
      const [mine, theirs] = ['mine', 'theirs'].map((name) => `${model}-${name}`) as [
        string,
        string,
      ];
      const keyOf = (id: string) => recordKey(model, id, credentialHash);
      for (const id of [mine, theirs]) {
        await adapter.upsert(id, { uid: `uid-${id}`, userCode: `code-${id}` }, 60);
      }
      await store.set(keyOf(mine), (await store.get(keyOf(theirs))) ?? '', 60);
      expect(await adapter.find(mine)).toBeUndefined();
      expect(damaged.splice(0)).toEqual([`${model} ${keyOf(mine)}`]);
      expect(await adapter.find(theirs)).toMatchObject({ uid: `uid-${theirs}` });
    },
  );

  test('do not open a session or device code by the alias of another one', async () => {
    for (const [model, kind, find] of [
      ['Session', 'uid', 'findByUid'],
      ['DeviceCode', 'userCode', 'findByUserCode'],
    ] as const) {
      const adapter = adapterOf(model);
      for (const name of ['mine', 'theirs']) {
        await adapter.upsert(`${model}-of-${name}`, { [kind]: name }, 60);
      }
      const keyOf = (name: string) => `oidc:${model}:${kind}:${credentialHash(name)}`;
      await store.set(keyOf('mine'), (await store.get(keyOf('theirs'))) ?? '', 60);
      expect(await adapter[find]('mine')).toBeUndefined();
      expect(damaged.splice(0)).toEqual([`${model} ${keyOf('mine')}`]);
      expect(await adapter[find]('theirs')).toMatchObject({ jti: `${model}-of-theirs` });
    }
  });
});
