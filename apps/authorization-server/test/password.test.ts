// requires: redis-server

import { describe, expect, test } from '@jest/globals';
import { alice, basic, requestToken, web } from './fixtures.ts';
import {
  blocked,
  bob,
  full,
  isActive,
  outcome,
  own,
  refreshing,
  requestPlatformToken,
  startGrantsSystems,
} from './grants-fixtures.ts';

const asFull = { authorization: basic(full.clientId, full.secureKey) };

const systems = await startGrantsSystems({}, 1);

describe.each(systems)('the password grant on $engine', ({ system }) => {
  const issuer = system.first;

  const signIn = (
    parameters: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = asFull,
  ) => requestToken(issuer, { grant_type: 'password', ...parameters }, headers);

  test('returns an access token, a refresh token and an ID token with the scope of the client', async () => {
    const { status, body } = await signIn(alice);
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: 7200,
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      id_token: expect.any(String),
      scope: 'device:read device:write device:log openid profile',
    });
    const [, payload = ''] = body.id_token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    expect(claims).toMatchObject({ iss: issuer, aud: full.clientId, sub: expect.any(String) });
    expect(JSON.stringify(claims)).not.toContain('alice');
    const userinfo = await fetch(`${issuer}/userinfo`, {
      headers: { authorization: `Bearer ${body.access_token}` },
    });
    expect(await userinfo.json()).toMatchObject({
      sub: claims.sub,
      preferred_username: alice.username,
    });
  });

  test('returns a refresh token that rotates like any other', async () => {
    const { body } = await signIn(alice);
    const refreshed = await requestToken(issuer, refreshing(body.refresh_token), asFull);
    expect(refreshed.status).toBe(200);
    expect(refreshed.body.scope).toBe(body.scope);
    expect(await isActive(issuer, refreshed.body.access_token, asFull.authorization)).toBe(true);
  });

  test('grants only the requested scope, and rejects a scope that is not allowed', async () => {
    const { body } = await signIn({ ...alice, scope: 'device:read' });
    expect(body.scope).toBe('device:read');
    expect(body.id_token).toBeUndefined();
    const rejected = await signIn({ ...alice, scope: 'device:report' });
    expect(outcome(rejected)).toEqual([400, 'invalid_scope']);
  });

  test('answers every failed sign-in the same', async () => {
    const attempts = [
      { ...alice, password: 'a wrong password' },
      { username: 'nobody', password: 'a wrong password' },
      blocked,
    ];
    const replies = await Promise.all(attempts.map((attempt) => signIn(attempt)));
    for (const { status, body } of replies) {
      expect([status, body]).toEqual([400, replies[0]?.body]);
      expect(body.error).toBe('invalid_grant');
    }
  });

  test('rejects users of other organizations if the client is for its own organization only', async () => {
    const headers = { authorization: basic(own.clientId, own.secureKey) };
    const foreign = await signIn(alice, headers);
    const wrong = await signIn({ ...bob, password: 'a wrong password' }, headers);
    expect([foreign.status, foreign.body]).toEqual([400, wrong.body]);
    const { status, body } = await signIn(bob, headers);
    expect([status, body.scope, body.refresh_token]).toEqual([200, 'device:read', undefined]);
  });

  test('compares passwords exactly, and rejects one over the limit before hashing it', async () => {
    for (const password of [`${alice.password} `, `${alice.password}\0`, alice.password.slice(1)]) {
      expect(outcome(await signIn({ ...alice, password }))).toEqual([400, 'invalid_grant']);
    }
    const longest = await signIn({ ...alice, password: 'x'.repeat(1024) });
    expect(outcome(longest)).toEqual([400, 'invalid_grant']);
    const long = await signIn({ ...alice, password: 'x'.repeat(1025) });
    expect(outcome(long)).toEqual([400, 'invalid_request']);
    const huge = await signIn({ ...alice, password: 'x'.repeat(1024 * 1024) });
    expect(outcome(huge)).toEqual([413, 'invalid_request']);
  });

  test('identifies a user by one canonical name', async () => {
    expect((await signIn({ ...alice, username: 'ALICE' })).status).toBe(200);
    expect((await signIn({ ...alice, username: 'ａｌｉｃｅ' })).status).toBe(200);
    expect((await signIn({ ...alice, username: 'alice.' })).status).toBe(400);
  });

  test('requires a registered client that authenticates', async () => {
    const asWeb = { authorization: basic(web.clientId, web.secureKey) };
    expect(outcome(await signIn(alice, asWeb))).toEqual([400, 'unauthorized_client']);
    const asPublic = await signIn({ ...alice, client_id: 'app' }, {});
    expect(outcome(asPublic)).toEqual([400, 'unauthorized_client']);
  });

  test('requires one username and one password', async () => {
    const { username, password } = alice;
    for (const parameters of [{ username }, { password }, { username, password: '' }, {}]) {
      expect(outcome(await signIn(parameters))).toEqual([400, 'invalid_request']);
    }
    const twice = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: asFull,
      body: new URLSearchParams([
        ['grant_type', 'password'],
        ['username', username],
        ['password', password],
        ['password', password],
      ]),
    });
    expect(twice.status).toBe(400);
  });

  test('is not available at the platform endpoint', async () => {
    const reply = await requestPlatformToken(issuer, { grant_type: 'password', ...alice }, asFull);
    expect(outcome(reply)).toEqual([400, 'unsupported_grant_type']);
  });
});
