// requires: redis-server
import { authorizeAsUser } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import {
  alice,
  authorizationUrl,
  basic,
  browserApp,
  pushRequest,
  requestToken,
  web,
} from './fixtures.ts';
import {
  full,
  outcome,
  refreshing,
  requestPlatformToken,
  signInAsAlice,
  startGrantsSystem,
  startGrantsSystems,
} from './grants-fixtures.ts';

const asFull = { authorization: basic(full.clientId, full.secureKey) };

const systems = await startGrantsSystems({}, 1);

describe.each(systems)('scopes on $engine', ({ system }) => {
  const issuer = system.first;

  /**
   * Signs in at /authorize and returns the reply of /token. The client is registered for no
   * `device:report`.
   */
  async function signIn(scope: string) {
    const landing = await authorizeAsUser(
      authorizationUrl(issuer, { client_id: full.clientId, scope }),
      alice,
    );
    const code = landing.searchParams.get('code') ?? '';
    const redemption = { grant_type: 'authorization_code', code, redirect_uri: web.redirectUri };
    return requestToken(issuer, redemption, asFull);
  }

  const postDevice = async (scope: string) => {
    const reply = await fetch(`${issuer}/device/auth`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'tv', scope }),
    });
    const { error } = (await reply.json()) as { readonly error?: string };
    return [reply.status, error];
  };

  const mixed = ' device:read  nonsense device:report openid ';

  test('that are unknown, or not registered for the client, are ignored at /authorize', async () => {
    const { status, body } = await signIn(mixed);
    expect([status, body.scope]).toEqual([200, 'device:read openid']);
    expect(body.id_token).toMatch(/^ey/);
  });

  test('that are unknown are ignored by every grant at the token endpoints', async () => {
    const machine = { grant_type: 'client_credentials', scope: mixed };
    const password = { grant_type: 'password', ...alice, scope: mixed };
    const unknownParameter = { ...machine, unknown: '1' };
    const replies = [
      await requestToken(issuer, machine, asFull),
      await requestToken(issuer, unknownParameter, asFull),
      await requestPlatformToken(issuer, machine, asFull),
      await requestToken(issuer, password, asFull),
    ];
    expect(replies.map(({ status, body }) => [status, body.scope])).toEqual([
      [200, 'device:read'],
      [200, 'device:read'],
      [200, 'device:read'],
      [200, 'device:read openid'],
    ]);
  });

  test('without a usable one are invalid_scope at every endpoint', async () => {
    const scope = 'nonsense device:report';
    for (const grant of [
      { grant_type: 'client_credentials', scope },
      { grant_type: 'client_credentials', scope: 'openid' },
      { grant_type: 'password', ...alice, scope },
    ]) {
      expect(outcome(await requestToken(issuer, grant, asFull))).toEqual([400, 'invalid_scope']);
    }
    const url = authorizationUrl(issuer, { client_id: full.clientId, scope });
    const reply = await fetch(url, { redirect: 'manual' });
    expect(reply.headers.get('location')).toContain('error=invalid_scope');
  });

  test('of a refresh are ignored if unknown, and rejected if the user did not grant them', async () => {
    const { body } = await signIn('openid device:read nonsense device:report');
    const again = await requestToken(
      issuer,
      refreshing(body.refresh_token, 'openid device:read nonsense device:report '),
      asFull,
    );
    expect([again.status, again.body.scope]).toEqual([200, 'openid device:read']);
    const wide = refreshing(again.body.refresh_token, 'openid device:read device:write');
    expect(outcome(await requestToken(issuer, wide, asFull))).toEqual([400, 'invalid_scope']);
  });

  test('that are malformed are invalid_scope', async () => {
    for (const scope of ['device:read a"b', 'device:read\tdevice:write']) {
      const grant = { grant_type: 'client_credentials', scope };
      expect(outcome(await requestToken(issuer, grant, asFull))).toEqual([400, 'invalid_scope']);
    }
  });

  test('of a device are ignored if unknown, and rejected without a usable one', async () => {
    expect(await postDevice(mixed)).toEqual([200, undefined]);
    expect(await postDevice('nonsense device:report')).toEqual([400, 'invalid_scope']);
  });

  describe('with offline_access', () => {
    const wanted = 'openid offline_access device:read';

    test('name it in the reply with a refresh token, and a refresh can request them again', async () => {
      const body = await signInAsAlice(issuer, wanted);
      expect(body.scope.split(' ').sort()).toEqual(wanted.split(' ').sort());
      const refreshed = await requestToken(issuer, refreshing(body.refresh_token, wanted));
      expect([refreshed.status, refreshed.body.scope]).toEqual([200, body.scope]);
    });

    test('are granted to a pushed request, and without a second consent', async () => {
      const pushed = await pushRequest(issuer, { scope: wanted });
      const query = new URLSearchParams({ client_id: web.clientId, request_uri: pushed });
      const landing = await authorizeAsUser(`${issuer}/authorize?${query}`, alice);
      const { body } = await requestToken(issuer, {
        grant_type: 'authorization_code',
        code: landing.searchParams.get('code') ?? '',
        redirect_uri: web.redirectUri,
      });
      expect(body.scope).toContain('offline_access');
    });

    test('do not name it if the client may not refresh', async () => {
      const landing = await authorizeAsUser(
        authorizationUrl(issuer, { client_id: 'no-refresh', scope: wanted }),
        alice,
      );
      const { body } = await requestToken(
        issuer,
        {
          grant_type: 'authorization_code',
          code: landing.searchParams.get('code') ?? '',
          redirect_uri: web.redirectUri,
        },
        { authorization: basic('no-refresh', 'noRefreshKey012345678') },
      );
      expect([body.scope, body.refresh_token]).toEqual(['openid device:read', undefined]);
    });

    test('alone are not replaced by other scopes', async () => {
      const reply = await fetch(
        authorizationUrl(issuer, { client_id: 'no-refresh', scope: 'offline_access' }),
        { redirect: 'manual' },
      );
      expect(reply.headers.get('location')).toContain('error=invalid_scope');
    });
  });

  describe('of a client that omits the redirect URI', () => {
    const redeem = (code: string, extra: Record<string, string> = {}) =>
      requestToken(issuer, { grant_type: 'authorization_code', code, ...extra });
    const newCode = async (parameters: Record<string, string> = {}) => {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: web.clientId,
        scope: 'openid',
        ...parameters,
      });
      const landing = await authorizeAsUser(`${issuer}/authorize?${query}`, alice);
      return landing.searchParams.get('code') ?? '';
    };

    test('/token needs no redirect URI if /authorize had none (RFC 6749 §4.1.3)', async () => {
      expect((await redeem(await newCode())).status).toBe(200);
      const named = await redeem(await newCode(), { redirect_uri: web.redirectUri });
      expect(named.status).toBe(200);
    });

    test('/token needs the redirect URI that /authorize had, whatever the request claims', async () => {
      for (const claim of [{}, { redirect_uri_omitted: 'true' }]) {
        const code = await newCode({ redirect_uri: web.redirectUri, ...claim });
        const { status, body } = await redeem(code, claim);
        expect([status, body.error]).toEqual([400, 'invalid_request']);
      }
      const other = await redeem(await newCode(), { redirect_uri: browserApp.redirectUri });
      expect([other.status, other.body.error]).toEqual([400, 'invalid_grant']);
    });
  });
});

const system = await startGrantsSystem('sqlite', { SECURITY_PROFILE: 'strict' }, 1);

describe('scopes under the strict profile', () => {
  test('are rejected if one is unknown, not registered, or separated by two spaces', async () => {
    for (const scope of [
      'device:read nonsense',
      'device:read device:report',
      'device:read ',
      'device:read openid',
    ]) {
      const grant = { grant_type: 'client_credentials', scope };
      for (const extra of [{}, { unknown: '1' }]) {
        const reply = await requestToken(system.first, { ...grant, ...extra }, asFull);
        expect([scope, ...outcome(reply)]).toEqual([scope, 400, 'invalid_scope']);
      }
    }
    const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' };
    for (const scope of ['openid nonsense', 'openid device:report']) {
      const url = authorizationUrl(system.first, {
        client_id: full.clientId,
        scope,
        ...challenge,
      });
      const reply = await fetch(url, { redirect: 'manual' });
      expect(reply.headers.get('location')).toContain('error=invalid_scope');
    }
  });
});
