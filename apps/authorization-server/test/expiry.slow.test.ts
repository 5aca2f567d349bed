// requires: redis-server

import { authorizeAsUser, createPageVisitor, integrationEngines } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { accountLimit } from '../src/throttle/limits.ts';
import { type ClockedServer, startClockedServer } from './clocked-server.ts';
import { alice, authorizationUrl, basic, requestToken, web } from './fixtures.ts';
import {
  full,
  isActive,
  other,
  outcome,
  refreshing,
  requestPlatformToken,
  signInAsAlice,
} from './grants-fixtures.ts';

const DAY = 24 * 60 * 60;
const asWeb = basic(web.clientId, web.secureKey);
const machine = { authorization: basic(other.clientId, other.secureKey) };

describe.each(integrationEngines)('expiry on %s', (engine) => {
  let server: ClockedServer;
  let issuer: string;

  beforeAll(async () => {
    server = await startClockedServer(engine);
    issuer = server.issuer;
  });
  afterAll(() => server.stop());

  const refresh = (token: string) => requestToken(issuer, refreshing(token));
  const redeemAfter = async (seconds: number) => {
    const landing = await authorizeAsUser(authorizationUrl(issuer), alice);
    server.advanceSeconds(seconds);
    return requestToken(issuer, {
      grant_type: 'authorization_code',
      code: landing.searchParams.get('code') ?? '',
      redirect_uri: web.redirectUri,
    });
  };

  test('redeems a code until shortly before it expires', async () => {
    expect((await redeemAfter(590)).status).toBe(200);
  });

  test('rejects a code as soon as it expires, without tolerance', async () => {
    for (const seconds of [601, 614]) {
      expect(outcome(await redeemAfter(seconds))).toEqual([400, 'invalid_grant']);
    }
  });

  test('restarts an incomplete sign-in after 30 minutes', async () => {
    const visitor = createPageVisitor();
    const url = authorizationUrl(issuer, { state: 'what the application waits for' });
    const { location = '' } = await visitor.get(url);
    server.advanceSeconds(1790);
    const form = await visitor.get(location);
    expect(form.status).toBe(200);
    server.advanceSeconds(11);
    for (const page of [await visitor.get(location), await visitor.submit(form, alice)]) {
      expect(page.status).toBe(303);
      const landing = await authorizeAsUser(page.location ?? '', alice, visitor);
      expect(landing.searchParams.get('error')).toBeNull();
      expect(landing.searchParams.get('state')).toBe('what the application waits for');
      expect(landing.searchParams.has('code')).toBe(true);
    }
  });

  test('revokes the family if a token is reused after its grace period', async () => {
    const { refresh_token: token } = await signInAsAlice(issuer);
    const { body } = await refresh(token);
    server.advanceSeconds(5);
    expect((await refresh(token)).body.refresh_token).toBe(body.refresh_token);
    // The grace period starts at the first use. Further uses do not extend it.
    server.advanceSeconds(6);
    expect(outcome(await refresh(token))).toEqual([400, 'invalid_grant']);
    expect(outcome(await refresh(body.refresh_token))).toEqual([400, 'invalid_grant']);
    expect(await isActive(issuer, body.access_token, asWeb)).toBe(false);
  });

  test('also revokes the family of a machine', async () => {
    const grant = { grant_type: 'client_credentials' };
    const first = (await requestPlatformToken(issuer, grant, machine)).body;
    const second = (await requestPlatformToken(issuer, refreshing(first.refresh_token), machine))
      .body;
    server.advanceSeconds(11);
    const again = await requestPlatformToken(issuer, refreshing(first.refresh_token), machine);
    expect(outcome(again)).toEqual([400, 'invalid_grant']);
    expect(await isActive(issuer, second.access_token, machine.authorization)).toBe(false);
    const next = await requestPlatformToken(issuer, refreshing(second.refresh_token), machine);
    expect(outcome(next)).toEqual([400, 'invalid_grant']);
  });

  test('rejects the refresh token of a machine whose client was revoked since', async () => {
    const grant = { grant_type: 'client_credentials' };
    const issue = async () => (await requestPlatformToken(issuer, grant, machine)).body;
    const refreshMachine = async (token: string) =>
      outcome(await requestPlatformToken(issuer, refreshing(token), machine));
    const revoked = await issue();
    await server.identity.revocations.client(other.clientId);
    expect(await refreshMachine(revoked.refresh_token)).toEqual([400, 'invalid_grant']);
    server.advanceSeconds(2);
    expect(await refreshMachine((await issue()).refresh_token)).toEqual([200, undefined]);
  });

  test('rejects the refresh token of a machine 30 days after the first one', async () => {
    const grant = { grant_type: 'client_credentials' };
    const { body } = await requestPlatformToken(issuer, grant, machine);
    server.advanceSeconds(29 * DAY);
    const next = await requestPlatformToken(issuer, refreshing(body.refresh_token), machine);
    expect(next.status).toBe(200);
    server.advanceSeconds(DAY + 1);
    const late = await requestPlatformToken(issuer, refreshing(next.body.refresh_token), machine);
    expect(outcome(late)).toEqual([400, 'invalid_grant']);
  });

  test('ends a family 30 days after it started, however often it was refreshed', async () => {
    let { refresh_token: token } = await signInAsAlice(issuer);
    for (let day = 0; day < 29; day += 1) {
      server.advanceSeconds(DAY);
      const reply = await refresh(token);
      expect([day, reply.status]).toEqual([day, 200]);
      token = reply.body.refresh_token;
    }
    server.advanceSeconds(DAY + 1);
    expect(outcome(await refresh(token))).toEqual([400, 'invalid_grant']);
  });

  // Redis uses its own clock. The contract suite of the store tests its windows.
  if (engine === 'sqlite') {
    test('unlocks an account at the end of the window', async () => {
      const signIn = (password: string) =>
        requestToken(
          issuer,
          { grant_type: 'password', username: alice.username, password },
          { authorization: basic(full.clientId, full.secureKey) },
        );
      for (let i = 0; i < accountLimit.attempts; i += 1) {
        await signIn('a wrong password');
      }
      expect((await signIn(alice.password)).status).toBe(400);
      server.advanceSeconds(accountLimit.windowSeconds + 1);
      expect((await signIn(alice.password)).status).toBe(200);
    });
  }
});
