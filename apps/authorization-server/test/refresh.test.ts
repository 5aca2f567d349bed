// requires: redis-server

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openIdentity } from '@gatehouse/identity';
import { describe, expect, test } from '@jest/globals';
import { alice, basic, requestToken, web } from './fixtures.ts';
import {
  full,
  isActive,
  outcome,
  refreshing,
  requestPlatformToken,
  signInAsAlice,
  startGrantsSystems,
} from './grants-fixtures.ts';

const asWeb = basic(web.clientId, web.secureKey);

const systems = await startGrantsSystems();

describe.each(systems)('refresh tokens on $engine', ({ system }) => {
  const issuer = system.first;

  const scopeOf = async (token: string, authorization: string) => {
    const reply = await fetch(`${issuer}/introspect`, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams({ token }),
    });
    return ((await reply.json()) as { scope?: string }).scope;
  };
  const refresh = (token: string, scope?: string, server = issuer) =>
    requestToken(server, refreshing(token, scope));

  test('return a new access token and a new refresh token', async () => {
    const signedIn = await signInAsAlice(issuer);
    const { status, body } = await refresh(signedIn.refresh_token);
    expect(status).toBe(200);
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 7200, scope: signedIn.scope });
    expect(body.refresh_token).toMatch(/^[\w-]{43}$/);
    expect(body.refresh_token).not.toBe(signedIn.refresh_token);
    expect(body.access_token).not.toBe(signedIn.access_token);
    expect((await refresh(body.refresh_token)).status).toBe(200);
  });

  test('return the same successor again while it is unused, because the reply may be lost', async () => {
    const { refresh_token: token } = await signInAsAlice(issuer);
    const first = await refresh(token);
    const second = await refresh(token, undefined, system.second);
    expect(second.body.refresh_token).toBe(first.body.refresh_token);
    expect(second.body.access_token).not.toBe(first.body.access_token);
    expect(await isActive(issuer, first.body.access_token, asWeb)).toBe(true);
  });

  test('are revoked with their family if one is reused after its successor was used', async () => {
    const { refresh_token: token } = await signInAsAlice(issuer);
    const second = (await refresh(token)).body;
    const third = (await refresh(second.refresh_token)).body;
    expect(await isActive(issuer, third.access_token, asWeb)).toBe(true);

    expect(outcome(await refresh(token))).toEqual([400, 'invalid_grant']);
    for (const { access_token, refresh_token } of [second, third]) {
      expect(await isActive(issuer, access_token, asWeb)).toBe(false);
      expect(outcome(await refresh(refresh_token))).toEqual([400, 'invalid_grant']);
    }
  });

  test('have one successor for ten concurrent requests over two processes', async () => {
    const { refresh_token: token } = await signInAsAlice(issuer);
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        refresh(token, undefined, i % 2 === 0 ? system.first : system.second),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const successors = new Set(replies.map(({ body }) => body.refresh_token));
    expect(successors.size).toBe(1);
    const [successor = ''] = successors;
    expect((await refresh(successor)).status).toBe(200);
  });

  test('are rejected for another client, and stay valid', async () => {
    const { refresh_token: token } = await signInAsAlice(issuer);
    const authorization = basic(full.clientId, full.secureKey);
    const foreign = await requestToken(issuer, refreshing(token), { authorization });
    expect(outcome(foreign)).toEqual([400, 'invalid_grant']);
    const foreignPlatform = await requestPlatformToken(issuer, refreshing(token), {
      authorization,
    });
    expect(outcome(foreignPlatform)).toEqual([400, 'invalid_grant']);
    expect((await refresh(token)).status).toBe(200);
  });

  test('narrow the access token only, and never widen it', async () => {
    const { refresh_token: small } = await signInAsAlice(issuer, 'device:read');
    const wide = await refresh(small, 'device:read device:write');
    expect(outcome(wide)).toEqual([400, 'invalid_scope']);
    const { refresh_token: token, scope } = await signInAsAlice(issuer);
    const narrow = await refresh(token, 'device:read');
    expect(narrow.body.scope).toBe('device:read');
    const again = await refresh(narrow.body.refresh_token);
    expect(again.body.scope).toBe(scope);
  });

  test('cannot be replaced by an access token', async () => {
    const { access_token: token } = await signInAsAlice(issuer);
    expect(outcome(await refresh(token))).toEqual([400, 'invalid_grant']);
  });

  test('are rejected if they are empty, repeated, too long or contain NUL', async () => {
    for (const token of ['', 'x'.repeat(10_000), 'a\0b']) {
      expect((await refresh(token)).status).toBe(400);
    }
    const reply = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization: asWeb, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=refresh_token&refresh_token=a&refresh_token=b',
    });
    expect(reply.status).toBe(400);
  });

  test('lose a scope that the client no longer has, at either endpoint', async () => {
    const asFull = { authorization: basic(full.clientId, full.secureKey) };
    const password = { grant_type: 'password', ...alice };
    const ofUser = (await requestToken(issuer, password, asFull)).body;
    const ofMachine = (
      await requestPlatformToken(issuer, { grant_type: 'client_credentials' }, asFull)
    ).body;
    for (const { scope } of [ofUser, ofMachine]) {
      expect(scope).toContain('device:write');
    }
    const { clients } = openIdentity({ store: system.store, masterKey: randomBytes(32) });
    const setScopes = (scopes: readonly string[]) =>
      clients.update(full.clientId, (client) => ({ ...client, scopes }));
    const before = (await clients.find(full.clientId))?.scopes ?? [];
    await setScopes(['device:read', 'openid']);
    // The servers' copies of the record are at most 50 ms old.
    await sleep(60);

    const refreshed = await requestToken(issuer, refreshing(ofUser.refresh_token), asFull);
    expect([refreshed.status, refreshed.body.scope]).toEqual([200, 'device:read openid']);
    const taken = refreshing(refreshed.body.refresh_token, 'device:write');
    expect(outcome(await requestToken(issuer, taken, asFull))).toEqual([400, 'invalid_scope']);
    const platform = await requestPlatformToken(
      issuer,
      refreshing(ofMachine.refresh_token),
      asFull,
    );
    expect([platform.status, platform.body.scope]).toEqual([200, 'device:read']);
    for (const { body } of [refreshed, platform]) {
      for (const token of [body.access_token, body.refresh_token]) {
        expect(await scopeOf(token, asFull.authorization)).toBe(body.scope);
      }
    }
    await setScopes(before);
  });

  test('expire at a fixed time, whatever the refreshes', async () => {
    const expiry = async (token: string) => {
      const reply = await fetch(`${issuer}/introspect`, {
        method: 'POST',
        headers: { authorization: asWeb },
        body: new URLSearchParams({ token }),
      });
      return ((await reply.json()) as { exp: number }).exp;
    };
    const { refresh_token: token } = await signInAsAlice(issuer);
    const first = await expiry(token);
    expect(Math.abs(first - Date.now() / 1000 - 30 * 24 * 3600)).toBeLessThan(5);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect(await expiry((await refresh(token)).body.refresh_token)).toBe(first);
  });

  test('are not readable in the store, nor are their successors', async () => {
    const { refresh_token: token } = await signInAsAlice(issuer);
    const { body } = await refresh(token);
    const stored = await system.storedText();
    expect(stored.includes(token) || stored.includes(body.refresh_token)).toBe(false);
  });
});
