// requires: redis-server

import { authorizeAsUser } from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, basic, bootstrap, odd, requestToken, web } from './fixtures.ts';

const systems = await startOnEachEngine({
  bootstrap,
  apps: ['authorization-server', 'authorization-server'],
});

describe.each(systems)('the token endpoint on $engine', ({ system }) => {
  const issuer = system.authorizationServerUrl;

  const newCode = async () => {
    const landing = await authorizeAsUser(authorizationUrl(issuer), alice);
    return landing.searchParams.get('code') ?? '';
  };
  const redemption = (code: string) => ({
    grant_type: 'authorization_code',
    code,
    redirect_uri: web.redirectUri,
    client_id: web.clientId,
  });

  describe('client_credentials', () => {
    test('returns a token with the device scopes of the client, and no refresh token', async () => {
      const { status, body } = await requestToken(issuer, { grant_type: 'client_credentials' });
      expect(status).toBe(200);
      expect(body).toEqual({
        access_token: expect.stringMatching(/^[\w-]{43}$/),
        token_type: 'Bearer',
        expires_in: 7200,
        scope: 'device:read device:write device:log device:report',
      });
    });

    test('grants and returns the requested scopes that are allowed, and rejects a scope without any', async () => {
      const grant = { grant_type: 'client_credentials' };
      const narrow = await requestToken(issuer, { ...grant, scope: 'device:log' });
      expect(narrow.body.scope).toBe('device:log');
      const mixed = await requestToken(issuer, { ...grant, scope: 'device:read nonsense' });
      expect([mixed.status, mixed.body.scope]).toEqual([200, 'device:read']);
      for (const scope of ['nonsense', 'a"b']) {
        const refused = await requestToken(issuer, { ...grant, scope });
        expect([refused.status, refused.body.error]).toEqual([400, 'invalid_scope']);
      }
    });

    test('rejects scopes that need a user', async () => {
      const scope = 'openid offline_access';
      const { status, body } = await requestToken(issuer, {
        grant_type: 'client_credentials',
        scope,
      });
      expect([status, body.error]).toEqual([400, 'invalid_scope']);
    });
  });

  describe('client authentication', () => {
    const grant = { grant_type: 'client_credentials' };

    test('accepts id and secret form-encoded before base64', async () => {
      const authorization = basic(odd.clientId, odd.secureKey);
      const { status, body } = await requestToken(issuer, grant, { authorization });
      expect([status, body.scope]).toEqual([200, 'device:read']);
    });

    test("CA-02 accepts Basic from strict clients, with -_.!~*'() and space encoded", async () => {
      const encode = (text: string) =>
        encodeURIComponent(text).replace(/(?:[-_.!~*'()]|%20)/g, (found) =>
          found === '%20' ? '+' : `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
        );
      const authorization = `Basic ${btoa(`${encode(odd.clientId)}:${encode(odd.secureKey)}`)}`;
      expect((await requestToken(issuer, grant, { authorization })).status).toBe(200);
    });

    test('accepts the secret in the body', async () => {
      const credentials = { client_id: web.clientId, client_secret: web.secureKey };
      expect((await requestToken(issuer, { ...grant, ...credentials }, {})).status).toBe(200);
    });

    test('answers an unknown client, a wrong secret and a disabled client the same', async () => {
      const attempts = [
        basic('web', 'wrong-secret-0123456789'),
        basic('nobody', 'wrong-secret-0123456789'),
        basic('disabled', 'disabledKey0123456789'),
      ];
      const replies = await Promise.all(
        attempts.map((authorization) => requestToken(issuer, grant, { authorization })),
      );
      for (const { status, headers, body } of replies) {
        expect(status).toBe(401);
        expect(headers.get('www-authenticate')).toMatch(/^Basic realm=/);
        expect(body).toEqual(replies[0]?.body);
        expect(body.error).toBe('invalid_client');
      }
    });

    test('challenges with Basic also if the credentials are in the body', async () => {
      const credentials = { client_id: 'web', client_secret: 'wrong-secret-0123456789' };
      const { status, headers, body } = await requestToken(
        issuer,
        { ...grant, ...credentials },
        {},
      );
      expect([status, body.error]).toEqual([401, 'invalid_client']);
      expect(headers.get('www-authenticate')).toMatch(/^Basic realm=/);
    });

    test('rejects a client_id in the body that differs from the one in Basic', async () => {
      expect((await requestToken(issuer, { ...grant, client_id: 'other' })).status).toBe(400);
    });

    test('rejects a secret with appended characters', async () => {
      for (const suffix of ['\0', ' ', 'x']) {
        const credentials = { client_id: web.clientId, client_secret: `${web.secureKey}${suffix}` };
        expect((await requestToken(issuer, { ...grant, ...credentials }, {})).status).toBe(401);
      }
    });

    test('rejects a confidential client without a secret', async () => {
      const { status } = await requestToken(issuer, { ...grant, client_id: web.clientId }, {});
      expect(status).toBe(401);
    });
  });

  describe('replies', () => {
    const expectTokenHeaders = (headers: Headers) => {
      expect(headers.get('content-type')?.toLowerCase()).toBe('application/json;charset=utf-8');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('pragma')).toBe('no-cache');
      expect(headers.get('access-control-allow-origin')).toBeNull();
    };

    test('have the headers of the specification on success', async () => {
      expectTokenHeaders(
        (await requestToken(issuer, { grant_type: 'client_credentials' })).headers,
      );
    });

    test('have these headers on every error', async () => {
      const basicOfWeb = { authorization: basic(web.clientId, web.secureKey) };
      const errors = [
        await requestToken(issuer, {}),
        await requestToken(issuer, { grant_type: 'nonsense' }),
        await requestToken(issuer, { grant_type: 'authorization_code', code: 'x' }),
        await requestToken(issuer, { grant_type: 'client_credentials' }, {}),
        await requestToken(
          issuer,
          { grant_type: 'client_credentials' },
          { authorization: 'Basic %' },
        ),
        await requestToken(issuer, redemption('unknown')),
      ];
      for (const { status, headers, body } of errors) {
        expect(status).toBeGreaterThanOrEqual(400);
        expect(status).toBeLessThan(500);
        expectTokenHeaders(headers);
        expect(typeof body.error).toBe('string');
      }
      const get = await fetch(`${issuer}/token`, { headers: basicOfWeb });
      expectTokenHeaders(get.headers);
    });

    test('reject every method but POST', async () => {
      for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
        const reply = await fetch(`${issuer}/token`, { method });
        expect([method, reply.status, reply.headers.get('allow')]).toEqual([method, 405, 'POST']);
      }
    });

    test('are JSON even if the caller prefers HTML', async () => {
      const { headers, body } = await requestToken(
        issuer,
        { grant_type: 'nonsense' },
        { authorization: basic(web.clientId, web.secureKey), accept: 'text/html' },
      );
      expectTokenHeaders(headers);
      expect(body.error).toBe('unsupported_grant_type');
    });

    test('come from the exact path only', async () => {
      for (const path of ['/TOKEN', '/token/', '//token', '/%74oken']) {
        const reply = await fetch(`${issuer}${path}`, { method: 'POST' });
        expect([path, [400, 404].includes(reply.status)]).toEqual([path, true]);
      }
    });
  });

  describe('authorization_code', () => {
    test('redeems a code for an access token, a refresh token and an ID token', async () => {
      const { status, body } = await requestToken(issuer, redemption(await newCode()));
      expect(status).toBe(200);
      expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 7200 });
      expect(body.refresh_token).toMatch(/^[\w-]{43}$/);
      const claims = JSON.parse(
        atob(body.id_token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')),
      );
      expect(claims).toMatchObject({ iss: issuer, aud: 'web' });
      expect(claims.sub).not.toContain('alice');
    });

    test('requires the same redirect_uri', async () => {
      const { redirect_uri: _left, ...without } = redemption(await newCode());
      expect((await requestToken(issuer, without)).body.error).toBe('invalid_request');
      const other = { ...redemption(await newCode()), redirect_uri: 'https://app.example/other' };
      expect((await requestToken(issuer, other)).body.error).toBe('invalid_grant');
    });

    test('rejects the code of another client', async () => {
      const authorization = basic(odd.clientId, odd.secureKey);
      const { client_id: _own, ...form } = redemption(await newCode());
      const { status, body } = await requestToken(issuer, form, { authorization });
      expect([status, body.error]).toEqual([400, 'invalid_grant']);
    });

    test('rejects a second redemption, and revokes the tokens of the first', async () => {
      const code = await newCode();
      const first = await requestToken(issuer, redemption(code));
      expect(first.status).toBe(200);
      const second = await requestToken(issuer, redemption(code));
      expect([second.status, second.body.error]).toEqual([400, 'invalid_grant']);
      expect(second.body.error_description).not.toMatch(/[\r\n\t]/);
      const refresh = { grant_type: 'refresh_token', refresh_token: first.body.refresh_token };
      const dead = await requestToken(issuer, refresh);
      expect([dead.status, dead.body.error]).toEqual([400, 'invalid_grant']);
    });

    test('accepts exactly one of 50 concurrent redemptions over two processes', async () => {
      const code = await newCode();
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          requestToken(system.authorizationServerUrls[i % 2] ?? '', redemption(code)),
        ),
      );
      const winners = replies.filter((reply) => reply.status === 200);
      expect(winners).toHaveLength(1);
      for (const loser of replies.filter((reply) => reply.status !== 200)) {
        expect([loser.status, loser.body.error]).toEqual([400, 'invalid_grant']);
      }
    });
  });

  test('neither stores nor logs a readable token or code', async () => {
    const code = await newCode();
    const { body } = await requestToken(issuer, redemption(code));
    const written = (await system.output()) + (await system.storedText());
    for (const secret of [code, body.access_token, body.refresh_token, body.id_token]) {
      expect(written.includes(secret)).toBe(false);
    }
  });
});
