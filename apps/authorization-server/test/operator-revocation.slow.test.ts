// requires: redis-server

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Identity, openIdentity } from '@gatehouse/identity';
import { createStore, type Store } from '@gatehouse/store';
import {
  authorizeAsUser,
  type Constellation,
  createPageVisitor,
  integrationEngines,
  type PageVisitor,
  startConstellation,
} from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, requestToken, web } from './fixtures.ts';
import {
  bootstrap,
  connectDevice,
  introspect,
  pollDevice,
  startDevice,
  tokensFor,
} from './page-fixtures.ts';

describe.each(integrationEngines)(
  'revocation by an operator while servers run, over %s',
  (engine) => {
    let system: Constellation;
    let issuer: string;
    let store: Store;
    let identity: Identity;

    beforeEach(async () => {
      const apps = ['authorization-server'] as const;
      system = await startConstellation({ engine, bootstrap, apps });
      issuer = system.authorizationServerUrl;
      store = createStore(system.storeUrl);
      identity = openIdentity({ store, masterKey: randomBytes(32) });
    });
    afterEach(async () => {
      await store.close();
      await system.stop();
    });

    const codeOf = async (visitor: PageVisitor) =>
      (await authorizeAsUser(authorizationUrl(issuer), alice, visitor)).searchParams.get('code') ??
      '';
    const redeem = async (form: Record<string, string>) => {
      const { status, body } = await requestToken(issuer, form);
      return body.error ?? status;
    };
    const redeemCode = (code: string) =>
      redeem({ grant_type: 'authorization_code', code, redirect_uri: web.redirectUri });
    // The server's copies of a record are at most 50 ms old.
    const untilSeen = () => sleep(60);

    test('of the whole installation ends sessions, codes, devices, and tokens of users and machines', async () => {
      const visitor = createPageVisitor();
      const tokens = await tokensFor(issuer, visitor);
      const code = await codeOf(visitor);
      const device = await startDevice(issuer);
      await connectDevice(device, { visitor });
      const machine = (await requestToken(issuer, { grant_type: 'client_credentials' })).body;
      const accessTokens = [tokens.access_token, machine.access_token];
      for (const token of accessTokens) {
        expect(await introspect(issuer, token)).toMatchObject({ active: true });
      }

      await identity.revocations.everything();
      await untilSeen();
      for (const token of accessTokens) {
        expect(await introspect(issuer, token)).toEqual({ active: false });
      }
      expect(await redeemCode(code)).toBe('invalid_grant');
      expect(
        await redeem({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token }),
      ).toBe('invalid_grant');
      expect((await pollDevice(issuer, device)).body.error).toBe('invalid_grant');
      const silent = await visitor.get(authorizationUrl(issuer, { prompt: 'none' }));
      expect(silent.location).toContain('error=login_required');
    });

    test('of a client ends its tokens and codes for good', async () => {
      const visitor = createPageVisitor();
      const tokens = await tokensFor(issuer, visitor);
      const code = await codeOf(visitor);
      await identity.clients.update(web.clientId, (client) => ({ ...client, enabled: false }));
      await untilSeen();
      expect(await introspect(issuer, tokens.access_token)).toEqual({ active: false });

      await identity.revocations.client(web.clientId);
      await identity.clients.update(web.clientId, (client) => ({ ...client, enabled: true }));
      await untilSeen();
      expect(await introspect(issuer, tokens.access_token)).toEqual({ active: false });
      expect(await redeemCode(code)).toBe('invalid_grant');
      expect(
        await redeem({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token }),
      ).toBe('invalid_grant');
    });
  },
);
