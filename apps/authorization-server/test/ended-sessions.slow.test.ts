// requires: redis-server

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Identity, nextNotBefore, openIdentity } from '@gatehouse/identity';
import { createStore, type Store } from '@gatehouse/store';
import {
  type Constellation,
  createPageVisitor,
  integrationEngines,
  startConstellation,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { authorizationUrl, requestToken } from './fixtures.ts';
import { bootstrap, introspect, openPage, tokensFor, withForm } from './page-fixtures.ts';

interface Credentials {
  readonly username: string;
  readonly password: string;
}

const password = 'a password of many words';
const ways = ['everywhere', 'password', 'disabled', 'operator'] as const;
const users = ways.map((username) => ({ username, password, name: username, orgId: 'org-1' }));

describe.each(integrationEngines)('a session that ended elsewhere, over %s', (engine) => {
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

  const userIdOf = async ({ username }: Credentials) =>
    (await identity.users.findByUsername(username))?.userId ?? '';
  const end: Readonly<
    Record<(typeof ways)[number], (credentials: Credentials) => Promise<unknown>>
  > = {
    async everywhere(credentials) {
      const visitor = createPageVisitor();
      await openPage(visitor, `${issuer}/account`, credentials);
      const question = await visitor.get(`${issuer}/account/sign-out-everywhere`);
      await visitor.submit(withForm(question, '/account/sign-out-everywhere'), {});
    },
    async password(credentials) {
      const visitor = createPageVisitor();
      await openPage(visitor, `${issuer}/account`, credentials);
      const wanted = 'another password of many words';
      const form = await visitor.get(`${issuer}/account/password`);
      await visitor.submit(form, { current: credentials.password, wanted, repeated: wanted });
    },
    disabled: async (credentials) =>
      identity.users.update(await userIdOf(credentials), (user) => ({ ...user, enabled: false })),
    operator: async (credentials) =>
      identity.users.update(await userIdOf(credentials), (user) => ({
        ...user,
        notBefore: nextNotBefore(Date.now()),
      })),
  };

  test.each(ways)(
    'allows no silent sign-in and no refresh, and its tokens are invalid: %s',
    async (way) => {
      const credentials = { username: way, password };
      const visitor = createPageVisitor();
      const tokens = await tokensFor(issuer, visitor, credentials);
      const url = authorizationUrl(issuer, { scope: 'device:read openid', prompt: 'none' });
      const silently = async () => {
        const { location = issuer } = await visitor.get(url);
        const { searchParams } = new URL(location);
        return searchParams.get('error') ?? (searchParams.has('code') ? 'a code' : 'neither');
      };
      expect(await silently()).toBe('a code');

      await end[way](credentials);
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
