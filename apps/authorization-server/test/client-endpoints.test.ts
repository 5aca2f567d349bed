// requires: redis-server
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { authorizeAsUser } from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import {
  alice,
  authorizationUrl,
  basic,
  bootstrap,
  browserApp,
  odd,
  requestToken,
  resourceServer,
  web,
} from './fixtures.ts';

/** Sends a request over a raw socket, because no HTTP client would send it. */
function sendRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let reply = '';
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on('data', (chunk) => {
      reply += chunk.toString('utf8');
    });
    socket.on('close', () => resolve(reply));
    socket.on('error', (error) => (reply === '' ? reject(error) : resolve(reply)));
    socket.setTimeout(5000, () => socket.destroy());
  });
}

const TWICE = 'client authentication must only be provided using one mechanism';

const systems = await startOnEachEngine({ bootstrap, apps: ['authorization-server'] });

describe.each(systems)('the client endpoints on $engine', ({ system }) => {
  const issuer = system.authorizationServerUrl;
  const grant = { grant_type: 'client_credentials' };
  const asWeb = { authorization: basic(web.clientId, web.secureKey) };

  const post = (
    path: string,
    parameters: Record<string, string>,
    headers: Record<string, string> = asWeb,
  ) =>
    fetch(`${issuer}${path}`, { method: 'POST', headers, body: new URLSearchParams(parameters) });
  const postText = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`${issuer}${path}`, {
      method: 'POST',
      headers: { ...asWeb, 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body,
    });
  const newToken = async () => String((await requestToken(issuer, grant)).body.access_token);
  const introspect = async (token: string, headers?: Record<string, string>) => {
    const reply = await post('/introspect', { token }, headers);
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
  };
  const stillServes = async () => expect((await requestToken(issuer, grant)).status).toBe(200);

  describe('authentication', () => {
    test.each([
      ['bad base64', 'Basic %%%'],
      ['no colon', `Basic ${btoa('nocolon')}`],
      ['empty id', `Basic ${btoa(':secret')}`],
      ['empty secret', `Basic ${btoa('web:')}`],
      ['not UTF-8', `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString('base64')}`],
      ['bad form-encoding', `Basic ${btoa('web:%zz')}`],
    ])('answers %s with 401 invalid_client', async (_name, authorization) => {
      const { status, body, headers } = await requestToken(issuer, grant, { authorization });
      expect([status, body.error]).toEqual([401, 'invalid_client']);
      expect(headers.get('www-authenticate')).toMatch(/^Basic /);
    });

    test('accepts an empty secret in HTTP Basic from a public client only', async () => {
      const emptySecretOf = (id: string) => ({ authorization: `Basic ${btoa(`${id}:`)}` });
      const asPublic = emptySecretOf(browserApp.clientId);
      const form = { grant_type: 'refresh_token', refresh_token: 'unknown' };
      const confidential = emptySecretOf(web.clientId);
      for (const id of [{}, { client_id: browserApp.clientId, client_secret: '' }]) {
        expect((await post('/token', { ...form, ...id }, asPublic)).status).toBe(400);
        expect((await post('/revoke', { token: 'x', ...id }, asPublic)).status).toBe(200);
        const pushed = { response_type: 'code', redirect_uri: browserApp.redirectUri };
        const pkce = { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' };
        const par = await post('/par', { ...pushed, ...pkce, ...id }, asPublic);
        expect(par.status).toBe(201);
      }
      const { body } = await requestToken(issuer, form, asPublic);
      expect(body.error).toBe('invalid_grant');
      for (const path of ['/token', '/revoke', '/par', '/introspect', '/device/auth']) {
        for (const id of [{}, { client_id: web.clientId }]) {
          const reply = await post(path, { ...form, token: 'x', ...id }, confidential);
          expect([path, reply.status, await reply.json()]).toMatchObject([
            path,
            401,
            { error: 'invalid_client' },
          ]);
        }
      }
    });

    test.each([
      [{ client_id: web.clientId }, 'client_id mismatch'],
      [{ client_secret: web.secureKey }, TWICE],
      [{ client_id: web.clientId, client_secret: web.secureKey }, TWICE],
    ])(
      'rejects an empty secret in HTTP Basic next to %j in the body',
      async (second, description) => {
        const authorization = `Basic ${btoa(`${browserApp.clientId}:`)}`;
        const reply = await post('/token', { ...grant, ...second }, { authorization });
        expect([reply.status, await reply.json()]).toEqual([
          400,
          { error: 'invalid_request', error_description: description },
        ]);
      },
    );

    test('accepts the scheme in any case and rejects other separators and additions', async () => {
      const encoded = basic(web.clientId, web.secureKey).slice(6);
      expect(
        (await requestToken(issuer, grant, { authorization: `basic ${encoded}` })).status,
      ).toBe(200);
      for (const authorization of [`Basic\t${encoded}`, `Basic ${encoded},`]) {
        const { status } = await requestToken(issuer, grant, { authorization });
        expect([400, 401]).toContain(status);
      }
    });

    test('rejects a secret in the URL, and does not log it', async () => {
      const reply = await postText(
        `/token?client_id=web&client_secret=${web.secureKey}`,
        'grant_type=client_credentials',
      );
      expect(reply.status).toBe(400);
      expect(await system.output()).not.toContain(web.secureKey);
    });

    test('rejects client assertions, and does not advertise them', async () => {
      const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const assertion = `${part({ alg: 'none' })}.${part({ sub: 'web', iss: 'web', aud: issuer })}.`;
      const { status } = await requestToken(
        issuer,
        {
          ...grant,
          client_id: 'web',
          client_assertion: assertion,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        },
        {},
      );
      expect(status).toBe(401);
      const metadata = await (
        await fetch(`${issuer}/.well-known/oauth-authorization-server`)
      ).text();
      expect(metadata).not.toContain('_jwt');
    });
  });

  describe('transport', () => {
    test.each([
      ['1.0', 'chunked', 'needs HTTP/1.1'],
      ['1.1', 'gzip, chunked', 'must be chunked'],
    ])('CWE-444 rejects HTTP/%s with Transfer-Encoding: %s', async (version, encoding, problem) => {
      const form = 'grant_type=client_credentials';
      const revocation = `token=${await newToken()}`;
      const smuggled =
        `POST /revoke HTTP/1.1\r\nHost: x\r\nAuthorization: ${asWeb.authorization}\r\n` +
        'Content-Type: application/x-www-form-urlencoded\r\n' +
        `Content-Length: ${revocation.length}\r\n\r\n${revocation}`;
      const reply = await sendRaw(
        issuer,
        `POST /token HTTP/${version}\r\nHost: x\r\nAuthorization: ${asWeb.authorization}\r\n` +
          'Content-Type: application/x-www-form-urlencoded\r\nConnection: keep-alive\r\n' +
          `Transfer-Encoding: ${encoding}\r\n\r\n` +
          `${form.length.toString(16)}\r\n${form}\r\n0\r\n\r\n${smuggled}`,
      );
      expect(reply).toMatch(/^HTTP\/1\.1 400 /);
      expect(reply).toMatch(/\r\nconnection: close\r\n/i);
      expect(reply).toContain(`Transfer-Encoding ${problem}.`);
      expect(reply.match(/HTTP\/1\.1 [1-5]/g)).toHaveLength(1);
      await stillServes();
      expect(await introspect(revocation.slice('token='.length))).toMatchObject({
        body: { active: true },
      });
    });

    test('rejects a body over the limit, with and without Content-Length', async () => {
      const large = `grant_type=client_credentials&x=${'y'.repeat(56 * 1024)}`;
      const declared = await postText('/token', large);
      expect([declared.status, declared.headers.get('connection')]).toEqual([413, 'close']);
      const chunked = await new Promise<{ status: number; connection: string | undefined }>(
        (resolve, reject) => {
          const request = httpRequest(
            `${issuer}/token`,
            {
              method: 'POST',
              headers: {
                ...asWeb,
                'content-type': 'application/x-www-form-urlencoded',
                'transfer-encoding': 'chunked',
              },
            },
            (reply) => {
              reply.resume();
              resolve({ status: reply.statusCode ?? 0, connection: reply.headers.connection });
            },
          );
          request.on('error', reject);
          request.write(large);
          request.end();
        },
      );
      expect(chunked).toEqual({ status: 413, connection: 'close' });
      await stillServes();
    });

    test.each([
      'grant_type=client_credentials',
      'scope=device:read',
      'client_id=web',
      'client_id=other',
    ])('rejects a repeated parameter: %s', async (second) => {
      const first = 'grant_type=client_credentials&scope=device%3Aread&client_id=web';
      const reply = await postText('/token', `${first}&${second}`);
      expect(reply.status).toBe(400);
      expect(await reply.json()).toMatchObject({ error: 'invalid_request' });
    });

    test.each(['implicit', 'nonsense', 'urn:ietf:params:oauth:grant-type:jwt-bearer'])(
      'answers %s with unsupported_grant_type',
      async (type) => {
        const { status, body } = await requestToken(issuer, { grant_type: type });
        expect([status, body.error]).toEqual([400, 'unsupported_grant_type']);
      },
    );

    test('answers a client without the grant with unauthorized_client', async () => {
      const authorization = basic(odd.clientId, odd.secureKey);
      const refresh = { grant_type: 'refresh_token', refresh_token: 'x' };
      const { status, body } = await requestToken(issuer, refresh, { authorization });
      expect([status, body.error]).toEqual([400, 'unauthorized_client']);
    });

    test('ignores parameters named like members of every object, and rejects 10,000 parameters', async () => {
      const odds = '__proto__=x&constructor=y&toString=z&__proto__[a]=b';
      expect((await postText('/token', `grant_type=client_credentials&${odds}`)).status).toBe(200);
      const many = Array.from({ length: 5000 }, (_, i) => `p${i}=`).join('&');
      expect([200, 400]).toContain(
        (await postText('/token', `grant_type=client_credentials&${many}`)).status,
      );
      await stillServes();
    });

    test('answers preflights for registered origins only', async () => {
      const preflight = (origin: string) =>
        fetch(`${issuer}/token`, {
          method: 'OPTIONS',
          headers: { origin, 'access-control-request-method': 'POST' },
        });
      const foreign = await preflight('https://evil.example');
      expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
      const registered = await preflight(browserApp.origin);
      expect(registered.headers.get('access-control-allow-origin')).toBe(browserApp.origin);
    });

    test('lets a browser application call from its own origin, and no other client from that origin', async () => {
      const form = {
        grant_type: 'authorization_code',
        code: 'x',
        redirect_uri: browserApp.redirectUri,
      };
      const own = await requestToken(
        issuer,
        { ...form, client_id: browserApp.clientId },
        { origin: browserApp.origin },
      );
      expect([own.body.error, own.headers.get('access-control-allow-origin')]).toEqual([
        'invalid_grant',
        browserApp.origin,
      ]);
      for (const origin of [browserApp.origin, 'https://evil.example']) {
        const other = await requestToken(issuer, grant, { ...asWeb, origin });
        expect([origin, other.status, other.headers.get('access-control-allow-origin')]).toEqual([
          origin,
          200,
          null,
        ]);
        expect(other.headers.get('access-control-expose-headers')).toBeNull();
      }
    });
  });

  test.each([
    ['/token', { ...grant }, 200],
    ['/introspect', { token: 'unknown' }, 200],
    ['/revoke', { token: 'unknown' }, 200],
    ['/par', { response_type: 'code', client_id: 'web', redirect_uri: web.redirectUri }, 201],
    ['/device/auth', { client_id: 'web' }, 400],
  ])('forbids caching of every reply of %s', async (path, good, status) => {
    const wrong = { authorization: basic(web.clientId, 'a wrong secret 0123456789') };
    const gzip = { ...asWeb, 'content-encoding': 'gzip' };
    const replies = [
      [status, await post(path, good)],
      [400, await post(path, { nothing: 'of use' })],
      [401, await post(path, good, wrong)],
      [401, await post(path, good, { authorization: 'Basic %' })],
      [405, await fetch(`${issuer}${path}`)],
      [415, await post(path, good, gzip)],
    ] as const;
    for (const [expected, reply] of replies) {
      const header = (name: string) => reply.headers.get(name)?.toLowerCase();
      expect([reply.status, header('cache-control'), header('pragma')]).toEqual([
        expected,
        'no-store',
        'no-cache',
      ]);
      expect(header('content-type')).toBe('application/json;charset=utf-8');
    }
  });

  describe('introspection and revocation', () => {
    test('reject a caller without client authentication', async () => {
      const token = await newToken();
      for (const path of ['/introspect', '/revoke']) {
        for (const form of [{ token }, { token, client_id: web.clientId }]) {
          const reply = await post(path, form, {});
          expect([400, 401]).toContain(reply.status);
        }
      }
      const anonymous = await post('/introspect', { token, client_id: browserApp.clientId }, {});
      expect(anonymous.status).toBe(401);
      expect((await introspect(token)).body.active).toBe(true);
    });

    test('describe a token only to its own client and to a resource server', async () => {
      const token = await newToken();
      const own = await introspect(token);
      expect(own.body).toMatchObject({ active: true, client_id: 'web', token_type: 'Bearer' });
      const server = await introspect(token, {
        authorization: basic(resourceServer.clientId, resourceServer.secureKey),
      });
      expect(server.body.active).toBe(true);
      const other = await introspect(token, { authorization: basic(odd.clientId, odd.secureKey) });
      expect(other).toEqual({ status: 200, body: { active: false } });
    });

    test('revoke the refresh token of a grant with its access token', async () => {
      const landing = await authorizeAsUser(authorizationUrl(issuer), alice);
      const { body } = await requestToken(issuer, {
        grant_type: 'authorization_code',
        code: landing.searchParams.get('code') ?? '',
        redirect_uri: web.redirectUri,
      });
      expect((await introspect(body.refresh_token)).body.active).toBe(true);
      expect((await post('/revoke', { token: body.access_token })).status).toBe(200);
      expect((await introspect(body.access_token)).body.active).toBe(false);
      expect((await introspect(body.refresh_token)).body.active).toBe(false);
    });

    test('revoke a token at once, answer 200 again, and reject the token of another client', async () => {
      const token = await newToken();
      const foreign = await post(
        '/revoke',
        { token },
        { authorization: basic(odd.clientId, odd.secureKey) },
      );
      expect(foreign.status).toBe(400);
      expect((await introspect(token)).body.active).toBe(true);
      expect((await post('/revoke', { token })).status).toBe(200);
      expect((await introspect(token)).body.active).toBe(false);
      expect((await post('/revoke', { token })).status).toBe(200);
      expect((await post('/revoke', { token: 'unknown' })).status).toBe(200);
      const get = await fetch(`${issuer}/revoke?x=1`);
      expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    });

    test('do not tell a public client whether the token of another client is valid', async () => {
      const token = await newToken();
      const replyTo = async (value: string) => {
        const reply = await post('/revoke', { token: value, client_id: browserApp.clientId }, {});
        return [reply.status, reply.headers.get('content-type'), await reply.text()];
      };
      expect(await replyTo(token)).toEqual(await replyTo('unknown'));
      expect((await introspect(token)).body.active).toBe(true);
    });
  });

  describe('metadata', () => {
    interface Metadata {
      readonly issuer: string;
      readonly grant_types_supported: string[];
      readonly response_types_supported: string[];
      readonly token_endpoint_auth_methods_supported: string[];
      readonly [endpoint: string]: unknown;
    }
    const read = async (path = '/.well-known/openid-configuration', headers = {}) =>
      (await (await fetch(`${issuer}${path}`, { headers })).json()) as Metadata;

    test('is the same for every caller and every Host', async () => {
      const plain = await read();
      expect(await read('/.well-known/oauth-authorization-server')).toEqual(plain);
      expect(plain.issuer).toBe(issuer);
      const forged = await sendRaw(
        issuer,
        'GET /.well-known/openid-configuration HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nForwarded: host=evil.example\r\nConnection: close\r\n\r\n',
      );
      expect(forged).toContain('200 OK');
      expect(forged).toContain(JSON.stringify(plain.token_endpoint).slice(1, -1));
      expect(forged).not.toContain('evil.example');
    });

    test('lists the authentication methods of each endpoint, and the languages of the pages', async () => {
      const secrets = ['client_secret_basic', 'client_secret_post'];
      expect(await read()).toMatchObject({
        token_endpoint_auth_methods_supported: [...secrets, 'none'],
        revocation_endpoint_auth_methods_supported: [...secrets, 'none'],
        introspection_endpoint_auth_methods_supported: secrets,
        ui_locales_supported: ['en', 'zh-CN'],
      });
    });

    test('lists only endpoints that exist', async () => {
      const metadata = await read();
      const endpoints = Object.entries(metadata).filter(([name]) => /_endpoint$|_uri$/.test(name));
      expect(endpoints.length).toBeGreaterThan(6);
      for (const [name, url] of endpoints) {
        const method = [
          'authorization_endpoint',
          'jwks_uri',
          'userinfo_endpoint',
          'end_session_endpoint',
        ].includes(name)
          ? 'GET'
          : 'POST';
        const reply = await fetch(String(url), { method, redirect: 'manual' });
        expect([name, [404, 405].includes(reply.status)]).toEqual([name, false]);
      }
    });

    test('lists exactly the supported grant types', async () => {
      const { grant_types_supported: named } = await read();
      const candidates = [
        'authorization_code',
        'client_credentials',
        'refresh_token',
        'password',
        'urn:ietf:params:oauth:grant-type:device_code',
        'urn:ietf:params:oauth:grant-type:jwt-bearer',
        'urn:ietf:params:oauth:grant-type:token-exchange',
        'urn:openid:params:grant-type:ciba',
      ];
      for (const type of candidates) {
        const { body } = await requestToken(issuer, { grant_type: type });
        expect([type, body.error !== 'unsupported_grant_type']).toEqual([
          type,
          named.includes(type),
        ]);
      }
      expect(named).toContain('implicit');
    });

    test('contains no private member of a key, and no development key', async () => {
      const { keys } = (await (await fetch(`${issuer}/jwks`)).json()) as {
        keys: Record<string, string>[];
      };
      expect(keys.length).toBeGreaterThan(0);
      for (const key of keys) {
        for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth']) {
          expect(key).not.toHaveProperty(member);
        }
        expect(key.kid).not.toBe('keystore-CHANGE-ME');
      }
    });
  });
});
