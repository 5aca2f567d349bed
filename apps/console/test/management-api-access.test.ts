/** Who may call the management API: every operation with every credential that must not open it. */
import { createHash } from 'node:crypto';
import { grantTombstoneKey, ONE_FACTOR } from '@gatehouse/identity';
import { signatureHeaders, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { operations } from '../src/api/document.ts';
import {
  type Answer,
  device,
  type ManagementApi,
  reader,
  startManagementApis,
  writer,
} from './management-api.ts';

const apis = await startManagementApis();

/** Every path exists, and none of its objects. */
const routes = operations.map(({ name, method, path, scope, body }) => ({
  ...{ name, method, scope, hasBody: body !== undefined },
  path: path.replaceAll(/\{\w+\}/g, 'unknown'),
}));
const other = (scope: string) => (scope === 'operator:read' ? 'operator:write' : 'operator:read');

/** What a credential gets: status, code, and the error of the challenge. */
const outcomeOf = ({ status, headers, body }: Answer) => [
  ...[status, body.code, /error="(\w+)"/.exec(headers.get('www-authenticate') ?? '')?.[1]],
];
const missing = [401, 'unauthorized', undefined];
const invalid = [401, 'unauthorized', 'invalid_token'];
const denied = [403, 'access_denied', 'insufficient_scope'];

interface Credential {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly expected: readonly unknown[];
}

async function wrongCredentials(api: ManagementApi, scope: string): Promise<readonly Credential[]> {
  const { identity, store, storedToken, tokens } = api;
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const of = async (username: string, changed: object = {}) =>
    bearer(await storedToken(username, changed));
  const grantId = `ended-${scope}`;
  await store.set(grantTombstoneKey(grantId), '', 600);
  const past = Math.floor(Date.now() / 1000) - 100;
  const { clientId, secureKey } = writer;
  const xAccessToken = await identity.xAccessTokens.issue({ clientId }, 60);
  const digest = createHash('sha256').update(tokens.writer).digest('base64url');
  return [
    { name: 'no token', headers: {}, expected: missing },
    { name: 'X-Access-Token', headers: { 'x-access-token': xAccessToken }, expected: missing },
    { name: 'OAuth token there', headers: { 'x-access-token': tokens.writer }, expected: missing },
    { name: 'signature', headers: signatureHeaders(writer, '{}'), expected: missing },
    { name: 'token in the URL', headers: {}, query: tokens.writer, expected: missing },
    {
      name: 'Basic',
      headers: { authorization: `Basic ${btoa(`${clientId}:${secureKey}`)}` },
      expected: missing,
    },
    { name: 'two words', headers: bearer(`${tokens.writer} x`), expected: invalid },
    { name: 'unknown', headers: bearer(digest), expected: invalid },
    { name: 'exchanged token', headers: bearer(xAccessToken), expected: invalid },
    { name: 'device API', headers: bearer(await api.tokenOf(device)), expected: invalid },
    {
      name: 'other API',
      headers: await of('olga', { aud: 'https://b.example' }),
      expected: invalid,
    },
    { name: 'expired', headers: await of('olga', { exp: past }), expected: invalid },
    { name: 'revoked', headers: await of('olga', { grantId }), expected: invalid },
    {
      name: 'refresh token',
      headers: await of('olga', { kind: 'RefreshToken' }),
      expected: invalid,
    },
    { name: 'other scope', headers: await of('olga', { scope: other(scope) }), expected: denied },
    { name: 'no role', headers: await of('sam'), expected: denied },
    {
      name: 'one factor',
      headers: await of('olga', { acr: ONE_FACTOR }),
      expected: [401, 'unauthorized', 'insufficient_user_authentication'],
    },
  ];
}

describe.each(apis)('the management API on $engine', ({ system: api }) => {
  test.each(['operator:read', 'operator:write'])(
    'opens no operation of %s for another credential',
    async (scope) => {
      const credentials = await wrongCredentials(api, scope);
      const session = await api.signIn();
      expect(session.cookie).toContain('console-session=');
      const cookie = { name: 'cookie', headers: { cookie: session.cookie }, expected: missing };
      const wanted = routes.filter((route) => route.scope === scope);
      expect(wanted.length).toBeGreaterThan(15);
      for (const { name, method, path, hasBody } of wanted) {
        const replies = await Promise.all(
          [...credentials, cookie].map(
            async ({ headers, query, expected, ...credential }: Credential) => {
              const target = query === undefined ? path : `${path}?access_token=${query}`;
              const json = hasBody ? { json: {} } : {};
              const answer = await api.send(target, { method, headers, token: undefined, ...json });
              expect(answer.headers.get('content-type')).toBe('application/problem+json');
              expect(answer.headers.get('www-authenticate')).toContain(
                `resource_metadata="${api.consoleUrl}/.well-known/oauth-protected-resource/admin/v1"`,
              );
              return [
                [name, credential.name, ...outcomeOf(answer)],
                [name, credential.name, ...expected],
              ];
            },
          ),
        );
        expect(replies.map(([found]) => found)).toEqual(replies.map(([, expected]) => expected));
      }
    },
  );

  test('opens for an operator who signed in with two factors', async () => {
    const { token } = await api.signIn();
    expect((await api.send('/settings', { token })).status).toBe(200);
    const created = await api.post('/organizations', { id: 'by-olga', name: 'X' }, { token });
    expect([created.status, created.body.id]).toEqual([201, 'by-olga']);
    const { body } = await api.send('/audit?event=organization_added');
    const [entry] = body.items;
    expect(entry).toMatchObject({
      ...{ actor: 'console', operator: await api.userId('olga'), organizationId: 'by-olga' },
      ...{ session: expect.any(String), address: expect.stringMatching(/^(::1|127\.0\.0\.1)$/) },
      requestId: created.headers.get('x-request-id'),
    });
    const byMachine = await api.post('/organizations', { id: 'by-machine', name: 'X' });
    expect(byMachine.status).toBe(201);
    const { body: trail } = await api.send('/audit?event=organization_added&limit=1');
    expect(trail.items[0]).toMatchObject({ actor: 'console', operator: writer.clientId });
    expect(trail.items[0]).not.toHaveProperty('session');
  });

  test('ends with the role of its user, and with its client', async () => {
    const { identity, send, storedToken } = api;
    const token = await storedToken('olga');
    const user = (await identity.users.findByUsername('olga'))?.userId ?? '';
    const isOpen = async (used: string) => (await send('/settings', { token: used })).status;
    const closes = (used: string, status: number) =>
      until(async () => (await isOpen(used)) === status);
    expect(await isOpen(token)).toBe(200);
    await identity.users.update(user, (each) => ({ ...each, roles: [] }));
    await closes(token, 403);
    await identity.users.update(user, (each) => ({ ...each, roles: ['operations'] }));
    const machine = await api.tokenOf(reader);
    expect(await isOpen(machine)).toBe(200);
    await identity.clients.update(reader.clientId, (each) => ({ ...each, enabled: false }));
    await closes(machine, 401);
  });

  test('tells a caller without a token nothing about paths', async () => {
    for (const [path, method] of [
      ['/nothing', 'GET'],
      ['/clients', 'DELETE'],
      ['/', 'GET'],
      ['', 'GET'],
      ['/clients/', 'GET'],
      ['/clients/%zz', 'GET'],
    ] as const) {
      const target = api.resource + path;
      const answer = await api.send(target, { method, token: undefined });
      expect([target, ...outcomeOf(answer)]).toEqual([target, ...missing]);
    }
    expect((await api.send('/clients/')).body).toMatchObject({ status: 404, code: 'not_found' });
    expect((await api.send('/clients/%zz')).body).toMatchObject({
      ...{ code: 'illegal_argument', detail: 'The path has an invalid percent-encoding.' },
    });
    const method = await api.send('/clients', { method: 'DELETE' });
    expect([method.status, method.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
  });

  test('counts requests by operation, credential and code, and logs failures', async () => {
    await api.send('/clients/nobody');
    const logged = '/requests?operation=api.clients.read&code=not_found&clientId=writer';
    await until(async () => (await api.send(logged)).body.items.length > 0);
    await api.send('/clients', { token: undefined });
    const { operationsUrl } = api.system.member('console');
    const metrics = await (await fetch(`${operationsUrl}/metrics`)).text();
    for (const [operation, credential, code] of [
      ['api.clients.read', 'bearer', 'not_found'],
      ['api.clients.list', 'none', 'unauthorized'],
    ]) {
      const labels = `operation="${operation}",credential="${credential}",outcome="refused",code="${code}"`;
      expect(metrics).toContain(`gatehouse_requests_total{${labels}}`);
    }
  });

  test('has no operation that adds a factor', () => {
    const writing = operations.filter(
      ({ method, path }) => /factor|passkey/.test(path) && method !== 'DELETE',
    );
    expect(writing).toEqual([]);
  });

  test('lets no machine make an operator, or decide how one signs in', async () => {
    const olga = `/users/${await api.userId('olga')}`;
    const sam = `/users/${await api.userId('sam')}`;
    const roles = ['user', 'operations'];
    const acts = [
      ['POST', '/users', { username: 'eve', name: 'Eve', orgId: 'org-1', roles }],
      ['PATCH', sam, { roles }],
      ['PATCH', olga, { email: 'eve@example.com' }],
      ['POST', `${olga}/password`, {}],
      ['DELETE', `${olga}/factors`],
      ['PUT', '/settings/operators', { roles }],
      ['PUT', '/settings/upstreams', []],
    ] as const;
    for (const [method, path, json] of acts) {
      const { status, body } = await api.send(path, { method, json });
      expect([path, status, body.code]).toEqual([path, 403, 'access_denied']);
    }
    const declared = { operators: { roles }, selfService: { data: true } };
    expect((await api.post('/declarations', declared)).status).toBe(403);
    const same = { operators: { roles: ['operations'] }, selfService: { data: true } };
    expect((await api.post('/declarations', same)).status).toBe(201);
    expect((await api.post(`${sam}/password`, {})).status).toBe(201);
    const token = await api.storedToken('olga');
    expect((await api.patch(sam, { roles }, { token })).body.roles).toEqual(roles);
  });

  test('names its authorization server (RFC 9728)', async () => {
    const place = `${api.consoleUrl}/.well-known/oauth-protected-resource/admin/v1`;
    const { status, body } = await api.send(place, { token: undefined });
    expect([status, body]).toEqual([
      200,
      {
        ...{ resource: api.resource, authorization_servers: [api.issuer] },
        ...{ scopes_supported: ['operator:read', 'operator:write'] },
        ...{ bearer_methods_supported: ['header'], resource_name: 'Gatehouse management API' },
      },
    ]);
    expect((await api.send(place, { method: 'POST', token: undefined })).status).toBe(405);
  });
});
