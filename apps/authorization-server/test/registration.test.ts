// requires: redis-server
/** Dynamic registration (RFC 7591, 7592): what an initial access token allows, and nothing else. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { clientSchema, registrationTokenSchema } from '@gatehouse/identity';
import { describe, expect, test } from '@jest/globals';
import { alice, web } from './installation.ts';
import { as, asWeb, type Fields, outcome, startOnEngines } from './server.ts';

const REDIRECT = 'https://agent.example/callback';
const systems = await startOnEngines();

describe.each(systems)('on $engine', ({ system }) => {
  const { first, identity } = system;

  const issue = async (changes: object = {}) => {
    const allowed = { scopes: ['device:read', 'openid'], redirectHosts: ['agent.example'] };
    const definition = registrationTokenSchema.parse({ orgId: 'org-1', ...allowed, ...changes });
    return (await identity.registrationTokens.issue(definition)).token;
  };
  async function send(method: string, path: string, token: string, body?: object | string) {
    const reply = await fetch(first.issuer + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: typeof body === 'object' ? JSON.stringify(body) : (body ?? null),
    });
    const text = await reply.text();
    const { status, headers } = reply;
    return { status, headers, body: text === '' ? undefined : JSON.parse(text) };
  }
  /** Sends the first byte of the body before `meanwhile`, and the others after it. */
  async function sendSlowly(
    { method, path, token }: { method: string; path: string; token: string },
    metadata: object,
    meanwhile: () => Promise<unknown>,
  ) {
    const body = JSON.stringify(metadata);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const call = request(first.issuer + path, {
      method,
      headers: { ...headers, 'content-length': Buffer.byteLength(body), expect: '100-continue' },
    });
    const replied = once(call, 'response') as Promise<[IncomingMessage]>;
    call.flushHeaders();
    await once(call, 'continue');
    call.write(body.slice(0, 1));
    await meanwhile();
    call.end(body.slice(1));
    const [reply] = await replied;
    reply.resume();
    return reply.statusCode;
  }
  const register = async (metadata: object = {}, token?: string) =>
    send('POST', '/register', token ?? (await issue()), { redirect_uris: [REDIRECT], ...metadata });
  const pathOf = (body: Fields) => new URL(body.registration_client_uri ?? '').pathname;
  const manage = (method: string, registered: Fields, body?: object) =>
    send(method, pathOf(registered), registered.registration_access_token ?? '', body);

  test('a client registers, signs a user in, and renews its access', async () => {
    const { status, headers, body } = await register({
      client_name: 'Agent',
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials', 'password'],
      logo_uri: 'https://ignored.example',
    });
    expect([status, headers.get('cache-control'), body]).toEqual([
      201,
      'no-store',
      {
        client_id: expect.stringMatching(/^registered-[\w-]{22}$/),
        client_secret: expect.any(String),
        ...{ client_secret_expires_at: 0, client_name: 'Agent', redirect_uris: [REDIRECT] },
        ...{ grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
        token_endpoint_auth_method: 'client_secret_basic',
        ...{ application_type: 'web', scope: 'device:read openid' },
        registration_client_uri: `${first.issuer}/register/${body.client_id}`,
        registration_access_token: expect.any(String),
      },
    ]);
    const client = { clientId: body.client_id, secureKey: body.client_secret };
    const location = await first.land(
      { client_id: client.clientId, redirect_uri: REDIRECT },
      alice,
    );
    const code = location.searchParams.get('code') ?? '';
    const { body: tokens } = await first.redeem(code, { redirect_uri: REDIRECT }, as(client));
    expect(await first.introspect(tokens.access_token)).toMatchObject({
      ...{ active: true, client_id: client.clientId, scope: 'device:read openid' },
    });
    const machine = await first.token({ grant_type: 'client_credentials' }, as(client));
    expect(outcome(machine)).toEqual([400, 'unauthorized_client']);
    expect(await identity.clients.find(client.clientId)).toMatchObject({
      ...{ orgId: 'org-1', firstParty: false, resourceServer: false },
    });
  });

  test('the count of a token is exact, also for requests at the same time', async () => {
    const token = await issue({ count: 3 });
    const replies = await Promise.all(Array.from({ length: 10 }, () => register({}, token)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(7);
    expect(await identity.registrationTokens.find(token)).toBeUndefined();
  });

  test('metadata that is rejected uses up nothing', async () => {
    const token = await issue();
    expect((await register({ redirect_uris: [] }, token)).status).toBe(400);
    expect((await register({}, token)).status).toBe(201);
  });

  test('a token is unknown, expired or revoked', async () => {
    const revoked = await issue();
    expect(await identity.revocations.token(revoked)).toMatchObject({ kind: 'InitialAccessToken' });
    for (const token of ['', 'a', web.secureKey, revoked]) {
      const { status, headers, body } = await register({}, token);
      expect([status, headers.get('www-authenticate'), body.error]).toEqual([
        401,
        'Bearer error="invalid_token"',
        'invalid_token',
      ]);
    }
    const basic = await first.post('/register', '{}', asWeb);
    expect(outcome(basic)).toEqual([401, 'invalid_token']);
  });

  test('a token for the scheme of an app allows this scheme', async () => {
    const token = await issue({ redirectHosts: ['com.example.app:'] });
    const native = { application_type: 'native', redirect_uris: ['com.example.app:/cb'] };
    expect((await register(native, token)).status).toBe(201);
  });

  test('a token that is revoked while the body arrives registers nothing', async () => {
    const token = await issue();
    const register = { method: 'POST', path: '/register', token };
    const revoke = () => identity.revocations.token(token);
    expect(await sendSlowly(register, { redirect_uris: [REDIRECT] }, revoke)).toBe(401);
  });

  test.each<[string, object, string]>([
    ['another host', { redirect_uris: ['https://evil.example/cb'] }, 'invalid_redirect_uri'],
    [
      'one more host',
      { redirect_uris: [REDIRECT, 'https://evil.example/'] },
      'invalid_redirect_uri',
    ],
    ['a subdomain', { redirect_uris: ['https://a.agent.example/cb'] }, 'invalid_redirect_uri'],
    ['loopback', { redirect_uris: ['http://127.0.0.1/cb'] }, 'invalid_redirect_uri'],
    ['http', { redirect_uris: ['http://agent.example/cb'] }, 'invalid_redirect_uri'],
    [
      'the host as an app scheme',
      { application_type: 'native', redirect_uris: ['agent.example:/cb'] },
      'invalid_redirect_uri',
    ],
    [
      'an app scheme in front of the host',
      { application_type: 'native', redirect_uris: ['com.evil://agent.example/cb'] },
      'invalid_redirect_uri',
    ],
    ['no redirect URI', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['a wildcard', { redirect_uris: ['https://agent.example/*'] }, 'invalid_redirect_uri'],
    ['another shape', { redirect_uris: 'a' }, 'invalid_redirect_uri'],
    ['an unknown method', { token_endpoint_auth_method: 'magic' }, 'invalid_client_metadata'],
    ['a control character', { client_name: 'a\u0000' }, 'invalid_client_metadata'],
  ])('metadata with %s is rejected', async (_name, metadata, error) => {
    const reply = await register(metadata);
    expect(outcome(reply)).toEqual([400, error]);
  });

  test.each(['', '[]', 'null', '{"a":1', '{"client_name":"a","client_name":"b"}', '"text"'])(
    'the body %s is rejected',
    async (body) => {
      const reply = await send('POST', '/register', await issue(), body);
      expect(outcome(reply)).toEqual([400, 'invalid_client_metadata']);
    },
  );

  test('a long body is rejected, and other methods name the right one', async () => {
    const reply = await register({ client_name: 'a'.repeat(20_000) });
    expect(outcome(reply)).toEqual([400, 'invalid_client_metadata']);
    const get = await send('GET', '/register', await issue());
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('scopes beyond the token are not granted', async () => {
    const asked = {
      scope: 'device:write device:read openid admin',
      token_endpoint_auth_method: 'none',
    };
    const { body } = await register(asked);
    expect([body.scope, body.client_secret]).toEqual(['device:read openid', undefined]);
    await expect(issue({ scopes: ['unknown:scope'] })).rejects.toThrow('No resource declares');
  });

  describe('the management token', () => {
    test('reads and changes its client, within what the client has', async () => {
      const { body: registered } = await register();
      const { client_secret: secret, client_secret_expires_at: _never, ...rest } = registered;
      expect((await manage('GET', registered)).body).toEqual(rest);
      const changed = { ...rest, client_name: 'Renamed', scope: 'device:read device:write' };
      const reply = await manage('PUT', registered, { ...changed, client_secret: secret });
      expect([reply.status, reply.body]).toEqual([
        200,
        { ...rest, client_name: 'Renamed', scope: 'device:read' },
      ]);
      const lost = await manage('PUT', registered, { ...rest, scope: 'openid' });
      expect([lost.status, lost.body.scope]).toEqual([200, '']);
    });

    test('does not undo what an operator changed', async () => {
      const { body: registered } = await register();
      const { client_id: clientId } = registered;
      await identity.clients.change(clientId, (client) => ({
        ...client,
        ...{ ownOrganizationOnly: true, ipAllowList: ['10.0.0.0/8'] },
      }));
      expect((await manage('PUT', registered, registered)).status).toBe(200);
      expect(await identity.clients.find(clientId)).toMatchObject({
        ...{ ownOrganizationOnly: true, ipAllowList: ['10.0.0.0/8'], orgId: 'org-1' },
      });
      await identity.clients.update(clientId, (client) => ({ ...client, enabled: false }));
      expect((await manage('PUT', registered, registered)).status).toBe(401);
      expect((await identity.clients.find(clientId))?.enabled).toBe(false);
    });

    test('does not undo what an operator changes while the body arrives', async () => {
      const grant_types = ['authorization_code', 'refresh_token'];
      const { body: registered } = await register({ grant_types });
      const { client_id: clientId, registration_access_token: token } = registered;
      const change = { method: 'PUT', path: pathOf(registered), token };
      const narrow = () =>
        identity.clients.change(clientId, (client) => ({
          ...client,
          ...{ scopes: ['openid'], grantTypes: ['authorization_code'] },
        }));
      expect(await sendSlowly(change, registered, narrow)).toBe(200);
      expect(await identity.clients.find(clientId)).toMatchObject({
        ...{ scopes: ['openid'], grantTypes: ['authorization_code'] },
      });
      const disable = () =>
        identity.clients.update(clientId, (client) => ({ ...client, enabled: false }));
      expect(await sendSlowly(change, registered, disable)).toBe(401);
    });

    test.each<[string, object]>([
      ['the id of another client', { client_id: web.clientId }],
      ['a wrong secret', { client_secret: 'wrong' }],
      ['another kind of client', { token_endpoint_auth_method: 'none' }],
      ['a foreign host', { redirect_uris: ['https://evil.example/'] }],
    ])('cannot set %s', async (_name, changes) => {
      const { body: registered } = await register();
      expect((await manage('PUT', registered, { ...registered, ...changes })).status).toBe(400);
    });

    test('is for one client, and ends with it', async () => {
      const { body: one } = await register();
      const { body: other } = await register();
      const { registration_access_token: token } = other;
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const foreign = { ...one, registration_access_token: token };
        expect((await manage(method, foreign, method === 'GET' ? undefined : one)).status).toBe(
          401,
        );
        const path = `/register/${web.clientId}`;
        expect((await send(method, path, token, method === 'GET' ? undefined : {})).status).toBe(
          401,
        );
      }
      expect((await manage('DELETE', one)).status).toBe(204);
      expect((await manage('GET', one)).status).toBe(401);
      const gone = await first.authorize({ client_id: one.client_id, redirect_uri: REDIRECT });
      expect(gone.status).toBe(400);
      expect((await manage('GET', other)).status).toBe(200);
    });
  });

  test('the metadata name the endpoint while there is a token', async () => {
    await issue();
    const { body } = await first.get('/.well-known/oauth-authorization-server');
    expect(JSON.parse(body).registration_endpoint).toBe(`${first.issuer}/register`);
  });
});

const secureKey = 'aKeyOfAStoredClient0123';
const good = 'https://app.example/callback';
const uris = [
  ...[good, 'https://localhost/callback', 'https://127.0.0.1/callback'],
  ...['http://localhost:9999/callback', 'http://127.0.0.1:9999/callback'],
  ...['http://[::1]/callback', 'com.example.app:/callback'],
];
const cases = uris.flatMap((uri) =>
  (['web', 'native'] as const).flatMap((applicationType) =>
    (['authorization_code', 'implicit'] as const).map(
      (grantType) => [uri, applicationType, grantType] as const,
    ),
  ),
);

/** A client is stored without the checks of the schema, as if an earlier release had accepted it. */
describe.each(systems)('redirect URIs of stored clients on $engine', ({ system }) => {
  /** What the server shows after `change`: a redirect, or a page. */
  async function requestWith(definition: object, change: object, parameters = {}) {
    const accepted = clientSchema.parse({ ...definition, redirectUris: [good] });
    const { secureKey: _key, ...client } = { ...accepted, ...change };
    await system.identity.clients.save(client, secureKey);
    const { clientId: client_id, redirectUris } = client;
    const request = { client_id, redirect_uri: redirectUris[0] ?? '', ...parameters };
    const { status, body } = await system.first.authorize(request);
    return { isPage: status === 400, body };
  }
  const ofAcme = { orgId: 'org-1', secureKey, scopes: ['device:read'] };

  test('a client whose address after sign-out is no longer accepted is rejected', async () => {
    const grantTypes = ['authorization_code'];
    const definition = { ...ofAcme, clientId: 'signs-out', name: 'Signs out', grantTypes };
    const change = { postLogoutRedirectUris: ['com.example.app:/signed-out'] };
    const { isPage, body } = await requestWith(definition, change);
    expect([isPage, body]).toEqual([true, expect.stringContaining('a registered redirect URI')]);
  });

  test.each(cases)(
    'the schema rejects %s of a %s application with %s exactly if the server does, with the same reason',
    async (uri, applicationType, grantType) => {
      const name = [uri, applicationType, grantType].join('-').replace(/[^\w]+/g, '-');
      const client = { ...ofAcme, clientId: name, name, applicationType, grantTypes: [grantType] };
      const { success, error } = clientSchema.safeParse({ ...client, redirectUris: [uri] });
      const type = { response_type: grantType === 'implicit' ? 'token' : 'code' };
      const { isPage, body } = await requestWith(client, { redirectUris: [uri] }, type);
      expect(isPage).toBe(!success);
      for (const { path, message } of error?.issues ?? []) {
        expect(path).toEqual(['redirectUris', 0]);
        expect(body).toContain(message);
      }
    },
  );
});
