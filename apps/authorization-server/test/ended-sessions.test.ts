// requires: redis-server

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Identity, nextNotBefore, openIdentity } from '@gatehouse/identity';
import { createStore, type Store } from '@gatehouse/store';
import {
  type Constellation,
  createPageVisitor,
  startConstellation,
  storeEngines,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { authorizationUrl, requestToken } from './fixtures.ts';
import { bootstrap, introspect, openPage, tokensFor, withForm } from './page-fixtures.ts';

interface Person {
  readonly username: string;
  readonly password: string;
}

const password = 'a password of many words';
const ways = ['everywhere', 'password', 'disabled', 'operator'] as const;
const users = ways.map((username) => ({ username, password, name: username, orgId: 'org-1' }));

describe.each(storeEngines)('a session that was ended elsewhere, over %s', (engine) => {
  let system: Constellation;
  let issuer: string;
  let store: Store;
  let identity: Identity;

  beforeAll(async () => {
    const apps = ['authorization-server', 'authorization-server'] as const;
    system = await startConstellation({ engine, bootstrap: { ...bootstrap, users }, apps });
    issuer = system.authorizationServerUrl;
    store = createStore(system.storeUrl);
    identity = openIdentity({ store, masterKey: randomBytes(32) });
  });
  afterAll(async () => {
    await store.close();
    await system.stop();
  });

  const userIdOf = async ({ username }: Person) =>
    (await identity.users.findByUsername(username))?.userId ?? '';
  const end: Readonly<Record<(typeof ways)[number], (person: Person) => Promise<unknown>>> = {
    async everywhere(person) {
      const visitor = createPageVisitor();
      const account = await openPage(visitor, `${issuer}/account`, person);
      await visitor.submit(withForm(account, '/account/sign-out-everywhere'), {});
    },
    async password(person) {
      const visitor = createPageVisitor();
      await openPage(visitor, `${issuer}/account`, person);
      const wanted = 'another password of many words';
      const form = await visitor.get(`${issuer}/account/password`);
      await visitor.submit(form, { current: person.password, wanted, repeated: wanted });
    },
    disabled: async (person) =>
      identity.users.update(await userIdOf(person), (user) => ({ ...user, enabled: false })),
    operator: async (person) =>
      identity.users.update(await userIdOf(person), (user) => ({
        ...user,
        notBefore: nextNotBefore(Date.now()),
      })),
  };

  test.each(ways)(
    'AZ-16 CG-14 neither signs in silently nor refreshes, and its tokens are dead: %s',
    async (way) => {
      const person = { username: way, password };
      const visitor = createPageVisitor();
      const tokens = await tokensFor(issuer, visitor, person);
      const url = authorizationUrl(issuer, { scope: 'device:read openid', prompt: 'none' });
      const silently = async () => {
        const { location = issuer } = await visitor.get(url);
        const { searchParams } = new URL(location);
        return searchParams.get('error') ?? (searchParams.has('code') ? 'a code' : 'neither');
      };
      expect(await silently()).toBe('a code');

      await end[way](person);
      // The servers' copies of a record are at most 50 ms old.
      await sleep(60);
      expect(await silently()).toBe('login_required');
      for (const server of system.authorizationServerUrls) {
        const grant = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
        expect((await requestToken(server, grant)).body.error).toBe('invalid_grant');
        expect(await introspect(server, tokens.access_token)).toEqual({ active: false });
      }
    },
  );
});
