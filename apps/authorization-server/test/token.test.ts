// requires: redis-server
/** Tokens: how they are issued, introspected and revoked. */

import { authorizeAsUser, newPkce, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { alice, browserApp, full, noRefresh, odd, resourceServer, web } from './installation.ts';
import {
  as,
  asWeb,
  type Fields,
  machineGrant,
  outcome,
  redeeming,
  refreshing,
  startOnEngines,
} from './server.ts';

const OPAQUE = expect.stringMatching(/^[\w-]{43}$/);
const asFull = as(full);
const asOdd = as(odd);

const systems = await startOnEngines({ servers: 2 });

describe.each(systems)('on $engine', ({ system }) => {
  const { authorizationUrl, get, introspect, isActive, issuer, newCode, platform, post, redeem } =
    system.first;
  const { revoke, startDevice, token, tokensFor } = system.first;
  const newToken = async () => String((await token(machineGrant)).body.access_token);

  describe('client_credentials', () => {
    test('returns a token with the device scopes of the client, and no refresh token', async () => {
      const { status, body } = await token(machineGrant);
      expect([status, body]).toEqual([
        200,
        {
          access_token: OPAQUE,
          token_type: 'Bearer',
          expires_in: 7200,
          scope: 'device:read device:write device:log device:report',
        },
      ]);
    });

    test('is not for a client without the grant', async () => {
      expect(outcome(await token(refreshing('x'), asOdd))).toEqual([400, 'unauthorized_client']);
      expect(outcome(await token(machineGrant, as(noRefresh)))).toEqual([
        400,
        'unauthorized_client',
      ]);
    });
  });

  describe('scopes', () => {
    const mixed = ' device:read  nonsense device:report openid ';
    /** Every way to ask for a scope, and what is granted of unknown and unregistered ones. */
    const ways: readonly [string, string, (scope: string) => ReturnType<typeof token>][] = [
      ['client_credentials', '', (scope) => token({ ...machineGrant, scope }, asFull)],
      // The fast path leaves a request with another parameter to the provider.
      ['the provider', '', (scope) => token({ ...machineGrant, scope, unknown: '1' }, asFull)],
      ['the platform endpoint', '', (scope) => platform({ ...machineGrant, scope }, asFull)],
      [
        'password',
        ' openid',
        (scope) => token({ grant_type: 'password', ...alice, scope }, asFull),
      ],
      [
        'authorization_code',
        ' openid',
        async (scope) => {
          const parameters = { client_id: full.clientId, scope };
          const { location = '' } = await get(authorizationUrl(parameters));
          return location.includes('error=')
            ? {
                status: 400,
                headers: new Headers(),
                body: Object.fromEntries(new URL(location).searchParams),
              }
            : redeem(await newCode(parameters), {}, asFull);
        },
      ],
    ];

    test.each(ways)(
      'that are unknown are ignored, but one has to be usable: %s',
      async (_way, more, ask) => {
        const { status, body } = await ask(mixed);
        expect([status, body.scope]).toEqual([200, `device:read${more}`]);
        expect(body.id_token === undefined).toBe(more === '');
        for (const scope of [
          'nonsense device:report',
          'device:read a"b',
          'device:read\tdevice:write',
        ]) {
          expect([scope, ...outcome(await ask(scope))]).toEqual([scope, 400, 'invalid_scope']);
        }
      },
    );

    test('that need a user are not granted to a machine', async () => {
      const scope = 'openid offline_access';
      expect(outcome(await token({ ...machineGrant, scope }))).toEqual([400, 'invalid_scope']);
    });

    test('of a device are ignored if unknown, and rejected without a usable one', async () => {
      expect(await startDevice({ scope: mixed })).toHaveProperty('device_code');
      expect((await startDevice({ scope: 'nonsense' })).error).toBe('invalid_scope');
    });

    test('with offline_access name it only if the client may refresh, and a refresh can repeat them', async () => {
      const scope = 'openid offline_access device:read';
      const body = await tokensFor({ scope });
      expect(body.scope.split(' ').sort()).toEqual(scope.split(' ').sort());
      const refreshed = await token(refreshing(body.refresh_token, scope));
      expect([refreshed.status, refreshed.body.scope]).toEqual([200, body.scope]);

      const code = await newCode({ client_id: noRefresh.clientId, scope });
      const without = (await redeem(code, {}, as(noRefresh))).body;
      expect([without.scope, without.refresh_token]).toEqual(['openid device:read', undefined]);
    });
  });

  describe('authorization_code', () => {
    test('redeems a code for an access token, a refresh token and an ID token', async () => {
      const { status, body } = await redeem(await newCode());
      expect([status, body]).toMatchObject([
        200,
        { token_type: 'Bearer', expires_in: 7200, access_token: OPAQUE, refresh_token: OPAQUE },
      ]);
      expect(decodeJwt(body.id_token)).toMatchObject({ iss: issuer, aud: 'web' });
      expect(decodeJwt(body.id_token).sub).not.toContain('alice');
    });

    test('requires the redirect URI that /authorize had, whatever the request claims', async () => {
      for (const claim of [{}, { redirect_uri_omitted: 'true' }] as Fields[]) {
        const { redirect_uri: _omitted, ...form } = redeeming(await newCode(claim));
        for (const ask of [token, (fields: Fields) => platform(fields, asWeb)]) {
          expect(outcome(await ask({ ...form, ...claim }))).toEqual([400, 'invalid_request']);
        }
      }
      const other = { redirect_uri: 'https://app.example/other' };
      expect(outcome(await redeem(await newCode(), other))).toEqual([400, 'invalid_grant']);
    });

    test('needs no redirect URI if /authorize had none (RFC 6749 §4.1.3)', async () => {
      const codeWithoutUri = async () => {
        const url = new URL(authorizationUrl({ scope: 'openid' }));
        url.searchParams.delete('redirect_uri');
        const landing = await authorizeAsUser(url.href, alice);
        return landing.searchParams.get('code') ?? '';
      };
      const { redirect_uri: _omitted, ...form } = redeeming(await codeWithoutUri());
      expect((await token(form)).status).toBe(200);
      expect((await redeem(await codeWithoutUri())).status).toBe(200);
      const foreign = { redirect_uri: browserApp.redirectUri };
      expect(outcome(await redeem(await codeWithoutUri(), foreign))).toEqual([
        400,
        'invalid_grant',
      ]);
    });

    test('rejects the code of another client, and a second redemption, which revokes the tokens', async () => {
      const code = await newCode();
      const foreign = await token({ ...redeeming(code) }, asOdd);
      expect(outcome(foreign)).toEqual([400, 'invalid_grant']);
      const first = await redeem(code);
      expect(first.status).toBe(200);
      const second = await redeem(code);
      expect(outcome(second)).toEqual([400, 'invalid_grant']);
      expect(second.body.error_description).not.toMatch(/[\r\n\t]/);
      expect(await isActive(first.body.access_token)).toBe(false);
      const refreshed = await token(refreshing(first.body.refresh_token));
      expect(outcome(refreshed)).toEqual([400, 'invalid_grant']);
    });

    test('accepts exactly one of 50 concurrent redemptions over two processes', async () => {
      const code = await newCode();
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, i) => system.any(i).redeem(code)),
      );
      const losers = replies.filter(({ status }) => status !== 200);
      expect(losers.map(outcome)).toEqual(Array(49).fill([400, 'invalid_grant']));
    });

    test('neither stores nor logs a readable token or code', async () => {
      const code = await newCode();
      const { body } = await redeem(code);
      const refreshed = (await token(refreshing(body.refresh_token))).body;
      const written = (await system.output()) + (await system.storedText());
      const secrets = [code, body.access_token, body.refresh_token, body.id_token];
      const all = [...secrets, refreshed.access_token, refreshed.refresh_token];
      expect(all.filter((secret) => written.includes(secret))).toEqual([]);
    });
  });

  describe('introspection', () => {
    const inactive = { active: false };

    test('describes a token only to its own client and to a resource server', async () => {
      const active = await newToken();
      const callers = { own: asWeb, server: as(resourceServer), other: asOdd };
      const told = Object.entries(callers).map(async ([name, headers]) => [
        name,
        await introspect(active, headers),
      ]);
      const described = expect.objectContaining({
        ...{ active: true, client_id: 'web', token_type: 'Bearer' },
        ...{ sub: 'web', aud: issuer, iss: issuer, org: 'org-1' },
      });
      expect(Object.fromEntries(await Promise.all(told))).toEqual({
        own: described,
        server: described,
        other: inactive,
      });
      const publicly = await post(
        '/introspect',
        { token: active, client_id: browserApp.clientId },
        {},
      );
      expect(publicly.status).toBe(401);
    });

    test('of an unknown token or one in the form of a JWT is inactive', async () => {
      const { id_token: idToken } = await tokensFor({ scope: 'openid' });
      for (const value of ['unknown', idToken, 'eyJhbGciOiJub25lIn0.e30.']) {
        expect(await introspect(value)).toEqual(inactive);
      }
    });

    test('names subject, audience and organization, also of the tokens of the platform endpoint', async () => {
      const { body } = await platform({ ...machineGrant, scope: 'device:read' }, asWeb);
      for (const value of [body.access_token, body.refresh_token]) {
        const told = await introspect(value);
        expect(told).toMatchObject({
          ...{ active: true, sub: 'web', client_id: 'web', aud: issuer, iss: issuer, org: 'org-1' },
          scope: 'device:read',
        });
        expect(told).not.toHaveProperty('username');
      }
      const tokens = await tokensFor({ scope: 'openid device:read' });
      for (const value of [tokens.access_token, tokens.refresh_token]) {
        const told = await introspect(value);
        expect(told).toMatchObject({ active: true, username: alice.username, org: 'org-1' });
        expect(told.sub).not.toBe('web');
      }
    });

    test.each([
      ['openid device:read', undefined, undefined],
      ['openid profile', alice.username, undefined],
      ['openid groups', undefined, 'org-1'],
    ])(
      'tells an application with %s about its user only what the scopes release',
      async (scope, username, org) => {
        const told = await introspect((await tokensFor({ scope })).access_token, asWeb);
        expect([told.active, told.username, told.org]).toEqual([true, username, org]);
      },
    );

    test('describes an X-Access-Token to resource servers and its own client', async () => {
      const value = await system.identity.xAccessTokens.issue({ clientId: web.clientId }, 600);
      for (const caller of [as(resourceServer), asWeb]) {
        const told = await introspect(value, caller);
        expect(told).toEqual({
          ...{ active: true, token_type: 'X-Access-Token', sub: 'web', client_id: 'web' },
          ...{ aud: issuer, iss: issuer, org: 'org-1' },
          scope: 'device:read device:write device:log device:report',
          ...{ iat: expect.any(Number), exp: expect.any(Number) },
        });
        // The time of issue is up to 50 ms earlier.
        expect([600, 601]).toContain(told.exp - told.iat);
      }
      expect(await introspect(value, asOdd)).toEqual(inactive);
      const publicly = await post(
        '/introspect',
        { token: value, client_id: browserApp.clientId },
        {},
      );
      expect(publicly.body).not.toMatchObject({ active: true });
      const wrong = as({ ...web, secureKey: 'a wrong secret 0123456789' });
      expect((await post('/introspect', { token: value }, wrong)).status).toBe(401);
    });
  });

  describe('revocation', () => {
    test('ends a token at once, answers {} also for an unknown one, and is for its own client', async () => {
      const value = await newToken();
      for (const fields of [{ token: value }, { token: value, client_id: web.clientId }]) {
        expect([400, 401]).toContain((await post('/revoke', fields, {})).status);
      }
      expect((await revoke(value, asOdd)).status).toBe(400);
      expect(await isActive(value)).toBe(true);
      for (const each of [value, value, 'unknown']) {
        const { status, headers, body } = await revoke(each);
        const type = headers.get('content-type');
        expect([status, type, body]).toEqual([200, 'application/json;charset=UTF-8', {}]);
      }
      expect(await isActive(value)).toBe(false);
    });

    test('of an access token ends its grant', async () => {
      const tokens = await tokensFor();
      expect(await isActive(tokens.refresh_token)).toBe(true);
      await revoke(tokens.access_token);
      expect(await isActive(tokens.access_token)).toBe(false);
      expect(await isActive(tokens.refresh_token)).toBe(false);
    });

    test('does not tell a public client whether the token of another client is valid', async () => {
      const value = await newToken();
      const replyTo = async (each: string) => {
        const fields = { token: each, client_id: browserApp.clientId };
        const { status, headers, body } = await post('/revoke', fields, {});
        return [status, headers.get('content-type'), body];
      };
      expect(await replyTo(value)).toEqual(await replyTo('unknown'));
      expect(await isActive(value)).toBe(true);
    });
  });

  test('servers that start at the same time create one signing key', async () => {
    const made = () => system.identity.audit.read({ event: 'signing_key_made', limit: 10 });
    await until(async () => (await made()).length > 0);
    expect(await made()).toMatchObject([{ purpose: 'authorization-server' }]);
  });
});

const ofApplication = { client_id: browserApp.clientId, redirect_uri: browserApp.redirectUri };

describe.each(systems)('guesses of the PKCE verifier of a code, on $engine', ({ system }) => {
  async function newCode() {
    const { verifier, pkce } = newPkce();
    const code = await system.first.newCode({ ...ofApplication, ...pkce });
    return (code_verifier = verifier, turn = 0) =>
      system.any(turn).redeem(code, { ...ofApplication, code_verifier }, {});
  }

  test('revoke the code after five at once on two servers, even for the correct verifier', async () => {
    const redeem = await newCode();
    const guesses = await Promise.all(
      Array.from({ length: 30 }, (_, i) => redeem(newPkce().verifier, i)),
    );
    expect(new Set(guesses.map(({ body }) => body.error))).toEqual(new Set(['invalid_grant']));
    expect(outcome(await redeem())).toEqual([400, 'invalid_grant']);
  });

  test('keep the code valid up to the fourth', async () => {
    const redeem = await newCode();
    for (let guess = 1; guess <= 4; guess += 1) {
      expect((await redeem(newPkce().verifier)).status).toBe(400);
    }
    expect((await redeem()).status).toBe(200);
  });

  test('do not prevent a replayed code from revoking its tokens', async () => {
    const redeem = await newCode();
    const { body } = await redeem();
    for (let guess = 1; guess <= 6; guess += 1) {
      await redeem(newPkce().verifier);
    }
    expect(outcome(await redeem())).toEqual([400, 'invalid_grant']);
    expect((await system.first.userinfo(body.access_token)).status).toBe(401);
  });
});
