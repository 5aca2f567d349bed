/**
 * The parameter `resource` (RFC 8707) of every grant, and what each place that reads a token makes
 * of its audience: the gateway, its verification for other proxies, and introspection.
 */

import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createPageVisitor, signatureHeaders, until } from '@gatehouse/testing';
import { listenForTests, temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { alice, bob, client, DEVICE_GRANT, installation, resourceServer } from './installation.ts';
import { as, type Fields, type Reply, refreshing, startOnEngines } from './server.ts';

const BILLING = 'https://billing.example/api';
const UNKNOWN = 'https://unknown.example';
const redirectUri = 'https://app.example/callback';
const app = { clientId: 'app', secureKey: 'appKey0123456789abcdef', redirectUri };
/** Without a scope of billing. */
const plain = { clientId: 'plain', secureKey: 'plainKey0123456789abcd', redirectUri };
/** Its default resource is billing. */
const biller = { clientId: 'biller', secureKey: 'billerKey0123456789abc', redirectUri };
const grants = [
  ...['authorization_code', 'client_credentials', 'refresh_token', 'password', DEVICE_GRANT],
];
const deviceScopes = ['device:read', 'device:write', 'openid', 'profile'];

const bootstrap = {
  ...installation,
  resources: [
    {
      resource: BILLING,
      name: 'Billing',
      scopes: {
        'billing:read': { description: { en: 'See your invoices', zh: '查看您的发票' } },
        'billing:write': { description: 'Change your invoices', roles: ['accountant'] },
      },
    },
  ],
  userAttributes: { department: { type: 'string', scope: 'profile' } },
  clients: [
    ...installation.clients,
    client(app, grants, [...deviceScopes, 'billing:read', 'billing:write']),
    client(plain, grants, deviceScopes),
    client(biller, grants, ['openid', 'billing:read', 'billing:write']),
  ],
  users: installation.users.map((user) =>
    user.username === bob.username
      ? { ...user, roles: ['accountant'], attributes: { department: 'Finance' } }
      : user,
  ),
};

/** An API that replies with the claims of the internal token. */
const billing = createServer((request, response) => {
  const [, token = ''] = request.headers.authorization?.split(' ') ?? [];
  response.setHeader('Content-Type', 'application/json').end(JSON.stringify(decodeJwt(token)));
});
const port = await listenForTests(billing);
const routesFile = join(temporaryFolder(), 'routes.json');
writeFileSync(
  routesFile,
  JSON.stringify({
    upstreams: { billing: { url: `http://127.0.0.1:${port}` } },
    routes: [
      {
        ...{ operation: 'invoices', method: 'GET', path: '/invoices', scope: 'billing:read' },
        claims: ['preferred_username', 'roles', 'department', 'auth_time', 'amr'],
      },
      {
        ...{ operation: 'invoices.create', method: 'POST', path: '/invoices' },
        ...{ scope: 'billing:write', resource: BILLING, roles: ['accountant'] },
      },
    ].map((route) => ({ ...route, upstream: 'billing' })),
  }),
);

const systems = await startOnEngines({
  apps: ['authorization-server', 'gateway', 'device-service'],
  bootstrap,
  environment: { ROUTES_FILE: routesFile, FORWARD_AUTH: 'true', TRUSTED_PROXIES: '127.0.0.1,::1' },
});

describe.each(systems)('on $engine', ({ system }) => {
  const { first, gatewayUrl } = system;

  /** The codes and tokens of a user for the client, with the parameter in both requests. */
  async function byCode(resource: Fields, known = app, user = alice as typeof alice | typeof bob) {
    const location = await first.land({ client_id: known.clientId, ...resource }, user);
    const error = location.searchParams.get('error');
    return error === null
      ? first.redeem(location.searchParams.get('code') ?? '', resource, as(known))
      : ({ status: 400, headers: new Headers(), body: { error } } as Reply);
  }
  async function byDevice(resource: Fields, known = app) {
    const started = await first.startDevice({ client_id: known.clientId, ...resource }, as(known));
    if (started.error !== undefined) {
      return { status: 400, headers: new Headers(), body: started } as Reply;
    }
    await first.connectDevice(started, { visitor: createPageVisitor() });
    const { device_code = '' } = started;
    return first.token({ grant_type: DEVICE_GRANT, device_code, ...resource }, as(known));
  }
  const ways: Readonly<Record<string, (resource: Fields, known?: typeof app) => Promise<Reply>>> = {
    client_credentials: (resource, known = app) =>
      first.token({ grant_type: 'client_credentials', ...resource }, as(known)),
    'client_credentials at the platform endpoint': (resource, known = app) =>
      first.platform({ grant_type: 'client_credentials', ...resource }, as(known)),
    password: (resource, known = app) =>
      first.token({ grant_type: 'password', ...alice, ...resource }, as(known)),
    authorization_code: byCode,
    'a device': byDevice,
    async refresh_token(resource, known = app) {
      const granted = await byCode(resource, known);
      const { refresh_token: refreshToken } = granted.body;
      return refreshToken === undefined
        ? granted
        : first.token({ ...refreshing(refreshToken), ...resource }, as(known));
    },
  };

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const call = (path: string, token: string, init: RequestInit = {}) =>
    fetch(gatewayUrl + path, { ...init, headers: bearer(token) });
  const verify = async (scope: string, token: string) =>
    (
      await fetch(`${gatewayUrl}/_verify?scope=${scope}`, {
        headers: { ...bearer(token), 'X-Original-Method': 'GET', 'X-Original-URI': '/any' },
      })
    ).status;

  describe.each(Object.entries(ways))('%s', (_name, request) => {
    test('with a resource gives a token for this resource alone', async () => {
      const { status, body } = await request({ resource: BILLING });
      expect([status, body.error]).toEqual([200, undefined]);
      const { access_token: token } = body;
      const invoices = await call('/invoices', token);
      expect([invoices.status, await invoices.json()]).toEqual([
        200,
        expect.objectContaining({ aud: 'billing', client_id: 'app' }),
      ]);
      const devices = await call('/api/device', token);
      expect([devices.status, devices.headers.get('www-authenticate')]).toEqual([
        401,
        expect.stringContaining('error="invalid_token"'),
      ]);
      expect(await devices.json()).toMatchObject({ message: expect.stringContaining(BILLING) });
      expect(await first.introspect(token)).toMatchObject({ active: true, aud: BILLING });
      expect([await verify('billing:read', token), await verify('device:read', token)]).toEqual([
        200, 401,
      ]);
    });

    test('without a resource gives a token for the device API, as before', async () => {
      const { status, body } = await request({});
      expect([status, body.error]).toEqual([200, undefined]);
      const { access_token: token } = body;
      expect((await call('/api/device', token)).status).toBe(200);
      const invoices = await call('/invoices', token);
      expect([invoices.status, invoices.headers.get('www-authenticate')]).toEqual([
        401,
        expect.stringContaining('https://billing.example/.well-known/oauth-protected-resource/api'),
      ]);
      expect(await first.introspect(token)).toMatchObject({ active: true, aud: first.issuer });
      expect([await verify('billing:read', token), await verify('device:read', token)]).toEqual([
        401, 200,
      ]);
    });

    test('with the address of the gateway gives a token for the device API', async () => {
      const { body } = await request({ resource: `${gatewayUrl}/` });
      expect((await call('/api/device', body.access_token)).status).toBe(200);
      expect((await call('/invoices', body.access_token)).status).toBe(401);
      expect(await first.introspect(body.access_token)).toMatchObject({ aud: gatewayUrl });
    });

    test('with an unknown resource, or one that the client may not use, is invalid_target', async () => {
      const unknown = await request({ resource: UNKNOWN });
      expect([unknown.status, unknown.body.error]).toEqual([400, 'invalid_target']);
      const notAllowed = await request({ resource: BILLING }, plain);
      expect([notAllowed.status, notAllowed.body.error]).toEqual([400, 'invalid_target']);
    });

    test('without a resource is for the default resource of the client', async () => {
      const { body } = await request({ scope: 'billing:read' }, biller);
      expect((await call('/invoices', body.access_token)).status).toBe(200);
      expect(await first.introspect(body.access_token)).toMatchObject({ aud: BILLING });
    });
  });

  test('a code for several resources gives one token for each of them', async () => {
    const query = new URLSearchParams({ response_type: 'code', client_id: 'app' });
    query.append('redirect_uri', redirectUri);
    query.append('scope', 'billing:read device:read');
    query.append('resource', BILLING);
    query.append('resource', gatewayUrl);
    const visitor = createPageVisitor();
    const landed = await first.open(visitor, `/authorize?${query}`);
    expect(landed.body).toContain('See your invoices');
    expect(landed.body).toContain('Billing');
    const done = await visitor.submit(landed, { decision: 'allow' });
    const address = new URL((await visitor.get(done.location ?? '')).location ?? '');
    const code = address.searchParams.get('code') ?? '';
    const ofBilling = await first.redeem(code, { resource: BILLING }, as(app));
    expect(ofBilling.body.scope).toBe('billing:read');
    const { refresh_token: refreshToken } = ofBilling.body;
    const ofDevices = await first.token(
      { ...refreshing(refreshToken), resource: gatewayUrl },
      as(app),
    );
    expect(ofDevices.body.scope).toBe('device:read');
    const { refresh_token: next } = ofDevices.body;
    const other = await first.token({ ...refreshing(next), resource: UNKNOWN }, as(app));
    expect([other.status, other.body.error]).toEqual([400, 'invalid_target']);
  });

  test('a pushed request carries the resource', async () => {
    const pushed = await first.post(
      '/par',
      { response_type: 'code', client_id: 'app', redirect_uri: redirectUri, resource: BILLING },
      as(app),
    );
    const { request_uri = '' } = pushed.body;
    const code = await first.newCode({ client_id: 'app', request_uri });
    const { body } = await first.redeem(code, { resource: BILLING }, as(app));
    expect(await first.introspect(body.access_token)).toMatchObject({ aud: BILLING });
    const unknown = await first.post(
      '/par',
      { response_type: 'code', client_id: 'app', redirect_uri: redirectUri, resource: UNKNOWN },
      as(app),
    );
    expect([unknown.status, unknown.body.error]).toEqual([400, 'invalid_target']);
  });

  test('a scope for roles goes only to users with one of them, and so does its route', async () => {
    const ofAlice = await byCode({ resource: BILLING });
    expect(ofAlice.body.scope).toBe('billing:read');
    const ofBob = await byCode({ resource: BILLING }, app, bob);
    expect(ofBob.body.scope).toBe('billing:read billing:write');
    const post = { method: 'POST' };
    expect((await call('/invoices', ofBob.body.access_token, post)).status).toBe(200);
    expect((await call('/invoices', ofAlice.body.access_token, post)).status).toBe(403);
    const byPassword = await ways.password?.({ resource: BILLING, scope: 'billing:write' });
    expect([byPassword?.status, byPassword?.body.error]).toEqual([400, 'invalid_scope']);
    // A machine has no role, so the route rejects it.
    const machine = await ways.client_credentials?.({ resource: BILLING });
    expect(machine?.body.scope).toBe('billing:read billing:write');
    expect((await call('/invoices', machine?.body.access_token, post)).status).toBe(403);
    expect((await first.introspect(ofBob.body.access_token)).scope).toBe(ofBob.body.scope);
    const { users } = system.identity;
    const { userId = '', roles = [] } = (await users.findByUsername(bob.username)) ?? {};
    await users.update(userId, (user) => ({ ...user, roles: [] }));
    // Copies of a record are up to 50 ms old.
    await until(
      async () => (await call('/invoices', ofBob.body.access_token, post)).status === 403,
    );
    const introspected = async (token: string) => (await first.introspect(token)).scope;
    await until(async () => (await introspected(ofBob.body.access_token)) === 'billing:read');
    const refreshed = await first.token(
      { ...refreshing(ofBob.body.refresh_token), resource: BILLING },
      as(app),
    );
    expect([refreshed.status, refreshed.body.scope]).toEqual([200, 'billing:read']);
    expect((await first.introspect(refreshed.body.access_token)).scope).toBe('billing:read');
    await users.update(userId, (user) => ({ ...user, roles }));
  });

  test('a service learns the claims of the user that its route asks for', async () => {
    const claimsOf = async (reply: Reply) =>
      (await (await call('/invoices', reply.body.access_token)).json()) as Record<string, unknown>;
    const before = Math.floor(Date.now() / 1000) - 1;
    for (const way of ['authorization_code', 'refresh_token', 'a device', 'password']) {
      const claims = await claimsOf((await ways[way]?.({ resource: BILLING })) as Reply);
      expect([way, claims]).toEqual([
        way,
        expect.objectContaining({ preferred_username: 'alice', roles: [], amr: ['pwd'] }),
      ]);
      expect(claims.auth_time).toBeGreaterThanOrEqual(before);
      expect(claims).not.toHaveProperty('department');
    }
    const ofBob = await claimsOf(await byCode({ resource: BILLING }, app, bob));
    expect(ofBob).toMatchObject({ preferred_username: 'bob', department: 'Finance' });
    const machine = await ways.client_credentials?.({ resource: BILLING });
    expect(await claimsOf(machine as Reply)).not.toHaveProperty('roles');
  });

  test('an attribute of a user is a claim of its scope', async () => {
    const claimsWith = async (scope: string) => {
      const { body } = await byCode({ scope }, app, bob);
      return { ofUserinfo: (await first.userinfo(body.access_token)).claims, ...body };
    };
    const { ofUserinfo, id_token: idToken } = await claimsWith('openid profile');
    expect(ofUserinfo).toMatchObject({ department: 'Finance' });
    expect(decodeJwt(idToken)).toMatchObject({ department: 'Finance' });
    expect((await claimsWith('openid')).ofUserinfo).not.toHaveProperty('department');
    const discovery = await first.get('/.well-known/openid-configuration');
    expect(discovery.body).toContain('"department"');
  });

  test('a client that signs is for its default resource', async () => {
    const signed = (known: typeof app, path: string) =>
      fetch(gatewayUrl + path, { headers: signatureHeaders(known) });
    expect((await signed(biller, '/invoices')).status).toBe(200);
    expect((await signed(biller, '/api/device')).status).toBe(401);
    expect((await signed(plain, '/invoices')).status).toBe(401);
    const issued = await fetch(`${gatewayUrl}/api/v1/token`, {
      method: 'POST',
      headers: { ...signatureHeaders(biller, '{}'), 'Content-Type': 'application/json' },
      body: '{}',
    });
    const { result } = (await issued.json()) as { readonly result: string };
    const headers = { 'X-Access-Token': result };
    expect((await fetch(`${gatewayUrl}/invoices`, { headers })).status).toBe(200);
    expect((await fetch(`${gatewayUrl}/api/device`, { headers })).status).toBe(401);
    expect(await first.introspect(result, as(resourceServer))).toMatchObject({ aud: BILLING });
  });

  test('the gateway publishes the metadata of each resource', async () => {
    const read = async (path: string) => {
      const reply = await fetch(`${gatewayUrl}/.well-known/oauth-protected-resource${path}`);
      return [reply.status, await reply.json()] as const;
    };
    expect(await read('/api')).toEqual([
      200,
      expect.objectContaining({
        resource: BILLING,
        resource_name: 'Billing',
        authorization_servers: [first.issuer],
        scopes_supported: ['billing:read', 'billing:write'],
      }),
    ]);
    expect(await read('')).toEqual([200, expect.objectContaining({ resource: gatewayUrl })]);
    expect((await read('/unknown'))[0]).toBe(404);
  });
});
