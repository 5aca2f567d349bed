// requires: redis-server

import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { authorizeAsUser } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, basic, requestToken, web } from './fixtures.ts';
import {
  full,
  isActive,
  other,
  outcome,
  refreshing,
  requestPlatformToken,
  signInAsAlice,
  startGrantsSystems,
} from './grants-fixtures.ts';

const machine = { client_id: other.clientId, client_secret: other.secureKey };
const grant = { grant_type: 'client_credentials', ...machine };
const asOther = basic(other.clientId, other.secureKey);
const asWeb = { client_id: web.clientId, client_secret: web.secureKey };

const systems = await startGrantsSystems();

describe.each(systems)('the platform endpoint on $engine', ({ system }) => {
  const issuer = system.first;

  const request = (body: unknown, headers?: Readonly<Record<string, string>>) =>
    requestPlatformToken(issuer, body, headers);
  const refreshMachine = (token: string, scope?: string, server = issuer) =>
    requestPlatformToken(server, { ...refreshing(token, scope), ...machine });
  const newCode = async () => {
    const landing = await authorizeAsUser(authorizationUrl(issuer), alice);
    return landing.searchParams.get('code') ?? '';
  };
  const form = (parameters: Readonly<Record<string, string>>) =>
    request(new URLSearchParams(parameters).toString(), {
      'content-type': 'application/x-www-form-urlencoded',
    });

  const expectTokenHeaders = (headers: Headers) => {
    expect(headers.get('content-type')?.toLowerCase()).toBe('application/json;charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('pragma')).toBe('no-cache');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  };

  describe('client_credentials', () => {
    test('returns a bare reply with a refresh token, for JSON and for a form', async () => {
      for (const { status, headers, body } of [await request(grant), await form(grant)]) {
        expect(status).toBe(200);
        expectTokenHeaders(headers);
        expect(body).toEqual({
          access_token: expect.stringMatching(/^[\w-]{43}$/),
          refresh_token: expect.stringMatching(/^[\w-]{43}$/),
          token_type: 'Bearer',
          expires_in: 7200,
          scope: 'device:read device:write',
        });
        expect(await isActive(issuer, body.access_token, asOther)).toBe(true);
        expect(await isActive(issuer, body.refresh_token, asOther)).toBe(true);
      }
    });

    test('reads the credentials from the body or from Basic, and rejects both', async () => {
      const { grant_type } = grant;
      const headers = { authorization: asOther };
      expect((await request({ grant_type }, headers)).status).toBe(200);
      expect((await request({ grant_type, client_id: other.clientId }, headers)).status).toBe(200);
      expect(outcome(await request(grant, headers))).toEqual([400, 'invalid_request']);
      const wrong = await request({ ...grant, client_secret: 'a wrong secret 01' });
      expect(outcome(wrong)).toEqual([401, 'invalid_client']);
      expect(wrong.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
    });

    test('reads an empty secret in Basic as a missing one, for JSON and for a form', async () => {
      const headers = { authorization: `Basic ${btoa(`${other.clientId}:`)}` };
      const content = { 'content-type': 'application/x-www-form-urlencoded' };
      for (const reply of [
        await request({ grant_type: grant.grant_type }, headers),
        await request(`grant_type=${grant.grant_type}`, { ...headers, ...content }),
      ]) {
        expect(outcome(reply)).toEqual([401, 'invalid_client']);
        expect(reply.body.error_description).toBe('client authentication failed');
      }
    });

    test('ignores unknown members, and lets scope only narrow', async () => {
      const extra = { expires_in: 99_999_999, sub: 'admin', role: ['admin'], resource: {} };
      const { status, body } = await request({ ...grant, ...extra, scope: null });
      expect([status, body.expires_in, body.scope]).toEqual([
        200,
        7200,
        'device:read device:write',
      ]);
      const narrow = await request({ ...grant, scope: 'device:read' });
      expect(narrow.body.scope).toBe('device:read');
      const partly = await request({ ...grant, scope: 'device:read device:log nonsense' });
      expect([partly.status, partly.body.scope]).toEqual([200, 'device:read']);
      const unusable = await request({ ...grant, scope: 'device:log nonsense' });
      expect(outcome(unusable)).toEqual([400, 'invalid_scope']);
    });

    test('returns no refresh token to a client without the grant', async () => {
      const odd = { client_id: 'web:1', client_secret: 's+e/c r%t&=0123456789' };
      const { status, body } = await request({ ...grant, ...odd });
      expect([status, body.refresh_token]).toEqual([200, undefined]);
    });
  });

  describe('refresh tokens of machines', () => {
    test('rotate, with one successor for all concurrent requests over two processes', async () => {
      const { refresh_token: token } = (await request(grant)).body;
      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          refreshMachine(token, undefined, i % 2 ? system.first : system.second),
        ),
      );
      expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
      expect(new Set(replies.map(({ body }) => body.refresh_token)).size).toBe(1);
      expect(replies[0]?.body).toMatchObject({ expires_in: 7200, token_type: 'Bearer' });
      expect(replies[0]?.body.refresh_token).not.toBe(token);
    });

    test('end with their family if one is reused after its successor was used', async () => {
      const { refresh_token: token } = (await request(grant)).body;
      const second = (await refreshMachine(token)).body;
      const third = (await refreshMachine(second.refresh_token)).body;
      expect(await isActive(issuer, third.access_token, asOther)).toBe(true);
      expect(outcome(await refreshMachine(token))).toEqual([400, 'invalid_grant']);
      expect(await isActive(issuer, third.access_token, asOther)).toBe(false);
      expect(outcome(await refreshMachine(third.refresh_token))).toEqual([400, 'invalid_grant']);
    });

    test('narrow the access token only, and never widen', async () => {
      const small = (await request({ ...grant, scope: 'device:read' })).body;
      const wide = await refreshMachine(small.refresh_token, 'device:read device:write');
      expect(outcome(wide)).toEqual([400, 'invalid_scope']);
      const { refresh_token: token } = (await request(grant)).body;
      const narrow = await refreshMachine(token, 'device:read');
      expect(narrow.body.scope).toBe('device:read');
      const again = await refreshMachine(narrow.body.refresh_token);
      expect(again.body.scope).toBe('device:read device:write');
    });

    test('can be used here only, by their own client only', async () => {
      const { refresh_token: token } = (await request(grant)).body;
      const atToken = await requestToken(issuer, refreshing(token), { authorization: asOther });
      expect(outcome(atToken)).toEqual([400, 'invalid_grant']);
      const foreign = await request({ ...refreshing(token), ...asWeb });
      expect(outcome(foreign)).toEqual([400, 'invalid_grant']);
      expect((await refreshMachine(token)).status).toBe(200);
    });

    test('are revoked with their access tokens', async () => {
      const { refresh_token: token, access_token: accessToken } = (await request(grant)).body;
      await fetch(`${issuer}/revoke`, {
        method: 'POST',
        headers: { authorization: asOther },
        body: new URLSearchParams({ token }),
      });
      expect(await isActive(issuer, accessToken, asOther)).toBe(false);
      expect(outcome(await refreshMachine(token))).toEqual([400, 'invalid_grant']);
    });
  });

  describe('tokens of users', () => {
    test('are issued for a code, and refreshed here and at /token', async () => {
      const code = await newCode();
      const redirect_uri = web.redirectUri;
      const withUri = { grant_type: 'authorization_code', code, redirect_uri, ...asWeb };
      const { status, body } = await request(withUri);
      expect([status, body.expires_in]).toEqual([200, 7200]);
      const here = await request({ ...refreshing(body.refresh_token), ...asWeb });
      expect(here.status).toBe(200);
      const there = await requestToken(issuer, refreshing(here.body.refresh_token));
      expect(there.status).toBe(200);
    });

    test('require the redirect_uri with a code', async () => {
      const code = await newCode();
      const reply = await request({ grant_type: 'authorization_code', code, ...asWeb });
      expect(outcome(reply)).toEqual([400, 'invalid_request']);
    });

    test('are refreshed here for their own client if /token issued them', async () => {
      const { refresh_token: token } = await signInAsAlice(issuer);
      expect(outcome(await refreshMachine(token))).toEqual([400, 'invalid_grant']);
      expect((await request({ ...refreshing(token), ...asWeb })).status).toBe(200);
    });
  });

  describe('rejects', () => {
    /** The error has the members that both kinds of client read. */
    const expectFailure = (
      reply: Awaited<ReturnType<typeof request>>,
      status: number,
      error: string,
      code: string,
    ) => {
      expect([reply.status, reply.body]).toEqual([
        status,
        {
          error,
          error_description: expect.any(String),
          status,
          code,
          message: reply.body.error_description,
          timestamp: expect.any(Number),
        },
      ]);
      expectTokenHeaders(reply.headers);
    };

    test('a body that is neither JSON nor a form', async () => {
      for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/xml']) {
        const reply = await request(grant, { 'content-type': type });
        expectFailure(reply, 415, 'invalid_request', 'unsupported_media_type');
      }
    });

    test.each([
      ['text that is cut off', '{"grant_type":"client_cre'],
      ['trailing data', '{} {}'],
      ['NaN', '{"a":NaN}'],
      ['a comment', '{/* */}'],
      ['nothing', ''],
      ['an array', '[{}]'],
      ['null', 'null'],
      ['a string', '"grant_type=client_credentials"'],
      ['a number', '1'],
      ['a repeated name', '{"client_id":"a","client_id":"b"}'],
      ['a repeated name in an escape', '{"client_id":"a","client\\u005fid":"b"}'],
      ['a nesting of 10 000', '['.repeat(10_000) + ']'.repeat(10_000)],
      ['a credential that is no string', JSON.stringify({ ...grant, client_secret: ['x'] })],
      ['a grant_type that is no string', JSON.stringify({ ...grant, grant_type: 1 })],
    ])('%s', async (_what, text) => {
      expectFailure(await request(text), 400, 'invalid_request', 'illegal_argument');
    });

    test('a large body, before it arrives', async () => {
      const outgoing = httpRequest(`${issuer}/platform/oauth2/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': 1024 * 1024 },
      });
      outgoing.flushHeaders();
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
      const reply = {
        status: incoming.statusCode ?? 0,
        headers: new Headers(incoming.headers as Record<string, string>),
        body: JSON.parse(await text(incoming)),
      };
      outgoing.destroy();
      expectFailure(reply, 413, 'invalid_request', 'payload_too_large');
    });

    test('a large body without Content-Length', async () => {
      const reply = await fetch(`${issuer}/platform/oauth2/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: new Blob([`{"a":"${'x'.repeat(80_000)}"}`]).stream(),
        duplex: 'half',
      } as RequestInit);
      expect(reply.status).toBe(413);
    });

    test('grants that are not part of Method C', async () => {
      for (const grant_type of ['password', 'implicit', 'nonsense']) {
        const reply = await request({ ...grant, grant_type, ...alice });
        expectFailure(reply, 400, 'unsupported_grant_type', 'illegal_argument');
      }
    });

    test('invalid requests with the errors of the token endpoint', async () => {
      const wrong = await request({ ...grant, client_secret: 'a wrong secret 01' });
      expectFailure(wrong, 401, 'invalid_client', 'unauthorized');
      const unknown = await request({ ...refreshing('unknown'), ...machine });
      expectFailure(unknown, 400, 'invalid_grant', 'illegal_argument');
      const missing = await request(machine);
      expectFailure(missing, 400, 'invalid_request', 'illegal_argument');
    });

    test('every method but POST, and secrets in the URL', async () => {
      const address = `${issuer}/platform/oauth2/token`;
      for (const method of ['GET', 'PUT', 'OPTIONS']) {
        const headers = { origin: 'https://app.example' };
        const reply = await fetch(address, { method, headers });
        expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'POST']);
        expect(reply.headers.get('access-control-allow-origin')).toBeNull();
      }
      const reply = await fetch(`${address}?client_secret=x`, { method: 'POST' });
      expect(reply.status).toBe(400);
    });
  });

  test('logs a token request without a secret', async () => {
    const { body } = await request({ ...grant, scope: 'device:write' });
    const output = await system.outputWith('"operation":"platform-token"');
    for (const secret of [body.access_token, body.refresh_token, other.secureKey, full.secureKey]) {
      expect(output).not.toContain(secret);
    }
  });
});
