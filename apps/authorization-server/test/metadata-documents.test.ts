/** Clients whose id is the address of the document that describes them, from consent to revocation. */

import { randomUUID } from 'node:crypto';
import { StoreUnavailableError } from '@gatehouse/store';
import { createPageVisitor, newPkce, type VisitedPage } from '@gatehouse/testing';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { advanceSeconds, startInProcess } from './in-process-server.ts';
import { alice } from './installation.ts';
import { type Fields, outcome, refreshing } from './server.ts';
import { startWebsite } from './website.ts';

const LISTED = 'agent.example';
const OTHER = 'unknown.example';
const RESOURCE = 'https://tools.example/mcp';
const CALLBACK = 'http://127.0.0.1/callback';
const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;
const { verifier, pkce } = newPkce();

const site = await startWebsite([LISTED, OTHER]);
let address = '93.184.215.14';
let isStoreDown = false;
const server = await startInProcess({
  aroundStore: (run) =>
    isStoreDown ? Promise.reject(new StoreUnavailableError('get', undefined)) : run(),
  app: { outbound: { resolve: async () => [address], createConnector: site.dial } },
});
const { identity } = server;
const apply = (clientIdMetadata: { hosts: string[]; scopes?: string[] }) =>
  identity.settings.apply({ clientIdMetadata });

/** A document that no test read before, with these changes. */
function publish(changes: object = {}, host = LISTED, path = `/${randomUUID()}.json`): string {
  const clientId = `https://${host}${path}`;
  const document = {
    ...{ client_id: clientId, client_name: 'Agent', redirect_uris: [CALLBACK] },
    ...{ grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
    token_endpoint_auth_method: 'none',
    ...changes,
  };
  site.handle = (request, response) =>
    request.url === new URL(clientId).pathname
      ? response.setHeader('Content-Type', 'application/json').end(JSON.stringify(document))
      : response.writeHead(404).end();
  return clientId;
}

const asking = (client_id: string, changes: Fields = {}): Fields => ({
  ...{ client_id, redirect_uri: CALLBACK, scope: 'tools:call', resource: RESOURCE },
  ...{ ...pkce, ...changes },
});
const authorize = async (client_id: string, changes: Fields = {}) => {
  const { status, body, location } = await server.authorize(asking(client_id, changes));
  return { status, body, error: location && new URL(location).searchParams.get('error') };
};
const consentPage = (client_id: string, visitor = createPageVisitor(), changes: Fields = {}) =>
  server.openConsent(visitor, asking(client_id, changes));
async function tokensOf(client_id: string, visitor = createPageVisitor()) {
  const location = await server.land(asking(client_id), alice, visitor);
  const form = { client_id, code_verifier: verifier, redirect_uri: CALLBACK };
  const { body } = await server.redeem(location.searchParams.get('code') ?? '', form, {});
  return body as Record<string, string>;
}
const asClient = (clientId: string, { refresh_token = '' }: Record<string, string>) =>
  server.token({ ...refreshing(refresh_token), client_id: clientId }, {});
const siteOf = ({ body }: VisitedPage) =>
  /<p class="site"><bdi translate="no">([^<]*)<\/bdi><\/p>/.exec(body)?.[1];
const metadata = async () =>
  (await server.get('/.well-known/oauth-authorization-server')).body as string;

beforeAll(async () => {
  const scopes = {
    'tools:call': { description: 'Call tools', roles: [] },
    'tools:list': { description: 'List tools', roles: [] },
  };
  await identity.settings.apply({ resources: [{ resource: RESOURCE, name: 'Tools', scopes }] });
});
beforeEach(async () => {
  address = '93.184.215.14';
  // Another window of every limit.
  advanceSeconds(2 * MINUTE);
  await apply({ hosts: [LISTED] });
  site.dialed.length = 0;
});

test('nothing is fetched or announced until an operator accepts a host', async () => {
  const clientId = publish();
  await apply({ hosts: [] });
  const unknown = await authorize('unknown-client');
  const withoutId = ({ body, ...rest }: typeof unknown) => [
    rest,
    body.replace(/[0-9a-f-]{36}/, '').replace(/ value="\/authorize[^"]*"/, ''),
  ];
  expect(withoutId(await authorize(clientId))).toEqual(withoutId(unknown));
  expect(site.dialed).toEqual([]);
  expect(await metadata()).not.toContain('client_id_metadata');
  await apply({ hosts: [LISTED] });
  expect(JSON.parse(await metadata())).toMatchObject({
    client_id_metadata_document_supported: true,
    token_endpoint_auth_methods_supported: expect.arrayContaining(['none']),
  });
  expect((await authorize(publish({}, OTHER))).status).toBe(400);
  expect(site.dialed).toEqual([]);
});

test('a document leads to tokens for its client, which every verifier accepts', async () => {
  const clientId = publish();
  const tokens = await tokensOf(clientId);
  const { access_token = '' } = tokens;
  expect(await identity.verifyAccessToken(access_token)).toMatchObject({
    ...{ clientId, resource: RESOURCE, scopes: new Set(['tools:call']) },
    user: expect.objectContaining({ username: alice.username }),
  });
  expect(await server.introspect(access_token)).toMatchObject({
    ...{ active: true, client_id: clientId, aud: RESOURCE, scope: 'tools:call' },
  });
  site.handle = (_request, response) => response.writeHead(500).end();
  const refreshed = await asClient(clientId, tokens);
  expect([outcome(refreshed), site.dialed.length]).toEqual([[200, undefined], 1]);
  expect(outcome(await server.token({ ...refreshing(tokens.refresh_token ?? '') }, {}))).toEqual([
    401,
    'invalid_client',
  ]);
});

test('a code needs PKCE, and goes to the port of a loopback address that the app chose', async () => {
  const clientId = publish({ redirect_uris: ['http://localhost/cb', CALLBACK] });
  const { code_challenge, ...rest } = asking(clientId);
  expect((await server.authorize(rest)).location).toContain('error=invalid_request');
  const redirect_uri = 'http://127.0.0.1:49152/callback';
  const location = await server.land(asking(clientId, { redirect_uri }), alice);
  expect([location.port, location.searchParams.get('code')]).toEqual(['49152', expect.anything()]);
});

test('a pushed request reads the document as well', async () => {
  const client_id = publish();
  const request = { response_type: 'code', ...asking(client_id) };
  const { status, body } = await server.post('/par', request, {});
  expect([status, site.dialed.length]).toEqual([201, 1]);
  const location = await server.land({ client_id, request_uri: body.request_uri });
  expect(location.searchParams.get('code')).toEqual(expect.anything());
});

test('an unavailable store is 503, and nothing is fetched', async () => {
  const clientId = publish();
  const tokens = await tokensOf(clientId);
  site.dialed.length = 0;
  isStoreDown = true;
  advanceSeconds(1);
  const statuses = [
    (await authorize(clientId)).status,
    (await authorize(publish())).status,
    (await asClient(clientId, tokens)).status,
    (await server.post('/register', '{}', { authorization: 'Bearer a' })).status,
  ];
  isStoreDown = false;
  expect([statuses, site.dialed]).toEqual([[503, 503, 503, 503], []]);
  expect((await metadata()).includes('registration_endpoint')).toBe(false);
});

describe('the consent page', () => {
  test('appears at every authorization, with the host in large type', async () => {
    const redirect_uri = `https://${LISTED}/callback`;
    const client_name = 'Gatehouse <b>support</b>\u202e';
    const clientId = publish({ client_name, redirect_uris: [redirect_uri] });
    const visitor = createPageVisitor();
    const page = await consentPage(clientId, visitor, { redirect_uri });
    expect(siteOf(page)).toBe(LISTED);
    expect(page.body).not.toContain('class="warning"');
    expect(page.body).not.toMatch(/<b>support|\u202e/);
    expect(page.body).toContain('Call tools');
    await server.land(asking(clientId, { redirect_uri }), alice, visitor);
    expect(siteOf(await consentPage(clientId, visitor, { redirect_uri }))).toBe(LISTED);
    const silently = asking(clientId, { redirect_uri, prompt: 'none' });
    const silent = await visitor.get(server.authorizationUrl(silently));
    expect(silent.location).toContain('error=consent_required');
  });

  test('warns of a host that no operator listed, in both languages', async () => {
    await apply({ hosts: ['*', LISTED] });
    expect((await consentPage(publish())).body).not.toContain('class="warning"');
    const clientId = publish({}, OTHER);
    const page = await consentPage(clientId);
    expect([siteOf(page), page.body]).toEqual([
      OTHER,
      expect.stringContaining('does not know this website'),
    ]);
    const chinese = await consentPage(clientId, createPageVisitor(), { ui_locales: 'zh-CN' });
    expect([siteOf(chinese), chinese.body]).toEqual([
      OTHER,
      expect.stringContaining('不了解该网站'),
    ]);
  });
});

describe('the scopes', () => {
  const scopesOf = async (clientId: string) => {
    const tokens = await tokensOf(clientId);
    return [...((await identity.verifyAccessToken(tokens.access_token ?? ''))?.scopes ?? [])];
  };

  test('are those of declared resources, never of the device API or of OpenID Connect', async () => {
    const clientId = publish({ scope: 'tools:call device:read openid' });
    const { body } = await consentPage(clientId, createPageVisitor(), {
      scope: 'openid device:read tools:call tools:list',
    });
    expect(body).toContain('Call tools');
    expect(body).not.toMatch(/List tools|See your devices|Confirm who you are/);
    expect((await authorize(clientId, { scope: 'device:read' })).error).toBe('invalid_scope');
  });

  test('follow a changed document', async () => {
    const path = `/${randomUUID()}.json`;
    const clientId = `https://${LISTED}${path}`;
    publish({ client_id: clientId, scope: 'tools:list' }, LISTED, path);
    expect((await authorize(clientId)).error).toBe('invalid_scope');
    publish({ client_id: clientId, scope: 'tools:list tools:call' }, LISTED, path);
    advanceSeconds(MINUTE);
    expect(await scopesOf(clientId)).toEqual(['tools:call']);
  });

  test('follow the settings, also those of issued tokens', async () => {
    const clientId = publish();
    const { access_token = '' } = await tokensOf(clientId);
    await apply({ hosts: [LISTED], scopes: ['tools:list', 'device:read'] });
    advanceSeconds(1);
    expect((await identity.verifyAccessToken(access_token))?.scopes).toEqual(new Set());
    expect((await authorize(clientId)).error).toBe('invalid_scope');
    await apply({ hosts: [LISTED] });
    advanceSeconds(1);
    expect(await scopesOf(clientId)).toEqual(['tools:call']);
  });
});

describe('an operator', () => {
  test('ends everything of a host', async () => {
    const clientId = publish();
    const tokens = await tokensOf(clientId);
    await apply({ hosts: ['another.example'] });
    advanceSeconds(1);
    expect(await identity.verifyAccessToken(tokens.access_token ?? '')).toBeUndefined();
    expect(outcome(await asClient(clientId, tokens))).toEqual([401, 'invalid_client']);
    expect((await authorize(clientId)).status).toBe(400);
  });

  test('disables and revokes one client, which its document cannot undo', async () => {
    const clientId = publish();
    const tokens = await tokensOf(clientId);
    await identity.clients.update(clientId, (client) => ({ ...client, enabled: false }));
    advanceSeconds(1);
    expect(await identity.verifyAccessToken(tokens.access_token ?? '')).toBeUndefined();
    expect(outcome(await asClient(clientId, tokens))).toEqual([401, 'invalid_client']);
    site.dialed.length = 0;
    expect((await authorize(clientId)).status).toBe(400);
    expect(site.dialed).toEqual([]);
    const found = await identity.clients.find(clientId);
    expect([found?.enabled, found?.document]).toEqual([false, {}]);
    expect((await identity.clients.listDocuments()).map((each) => each.clientId)).toContain(
      clientId,
    );
    expect((await identity.clients.list()).map((each) => each.clientId)).not.toContain(clientId);

    const revoked = publish();
    const { access_token = '' } = await tokensOf(revoked);
    await identity.revocations.client(revoked);
    advanceSeconds(1);
    expect(await identity.verifyAccessToken(access_token)).toBeUndefined();
  });

  test('registers a client with the same id, whose document is no longer read', async () => {
    const clientId = publish();
    await consentPage(clientId);
    const found = await identity.clients.find(clientId);
    const { document, ...client } = found as NonNullable<typeof found>;
    expect(document).toBeDefined();
    await identity.clients.save({ ...client, orgId: 'org-1', scopes: ['tools:call'] });
    site.dialed.length = 0;
    advanceSeconds(1);
    const { body } = await consentPage(clientId);
    expect([siteOf({ body } as VisitedPage), site.dialed]).toEqual([undefined, []]);
    expect((await identity.clients.list()).map((each) => each.clientId)).toContain(clientId);
  });
});

describe('a document is rejected', () => {
  test.each([
    ['that names another client', { client_id: 'https://agent.example/other.json' }],
    ['with a secret', { client_secret: 'secret' }],
    ['with a secret method', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['with no method, which means a secret', { token_endpoint_auth_method: undefined }],
    ['without the code grant', { grant_types: ['client_credentials'], response_types: [] }],
    ['without a redirect URI', { redirect_uris: [] }],
    ['with a redirect URI of another host', { redirect_uris: [`https://${OTHER}/cb`] }],
    ['with a script as redirect URI', { redirect_uris: ['javascript:alert(1)'] }],
    ['with a wildcard', { redirect_uris: [`https://${LISTED}/*`] }],
    ['with http to another machine', { redirect_uris: [`http://${LISTED}/cb`] }],
    ['with too many', { redirect_uris: Array.from({ length: 21 }, (_, i) => `${CALLBACK}/${i}`) }],
    ['over 5 KiB', { client_name: 'a'.repeat(5000) }],
  ])('%s', async (_name, changes) => {
    const clientId = publish(changes);
    const { redirect_uris: [redirect_uri = CALLBACK] = [] } = changes as Record<string, string[]>;
    const { status, error } = await authorize(clientId, { redirect_uri });
    expect([status, error, site.dialed.length]).toEqual([400, undefined, 1]);
    expect(await identity.clients.find(clientId)).toBeUndefined();
  });

  test.each([
    ...[
      `https://${LISTED}/`,
      `https://${LISTED}`,
      `https://${LISTED}:8443/a`,
      `http://${LISTED}/a`,
    ],
    ...[`https://${LISTED.toUpperCase()}/a`, `https://a@${LISTED}/a`, `https://${LISTED}/a/../b`],
    ...[`https://${LISTED}/a#b`, `https://${LISTED}.evil.example/a`, `https://evil-${LISTED}/a`],
    ...[`https://${LISTED}/${'a'.repeat(200)}`, 'https://127.0.0.1/a', `https:\\\\${LISTED}\\a`],
  ])('unread at %s', async (clientId) => {
    publish();
    expect((await authorize(clientId)).status).toBe(400);
    expect(site.dialed).toEqual([]);
  });

  test('unread at a private address, whatever an operator listed for registered clients', async () => {
    await identity.settings.apply({ privateHosts: [LISTED] });
    for (address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::ffff:10.0.0.1']) {
      expect((await authorize(publish())).status).toBe(400);
    }
    expect(site.dialed).toEqual([]);
    await identity.settings.apply({ privateHosts: [] });
  });

  test('if its redirect URIs of other hosts are all, but these are only ignored next to others', async () => {
    const elsewhere = `https://${OTHER}/cb`;
    const clientId = publish({ redirect_uris: [elsewhere, CALLBACK] });
    expect(siteOf(await consentPage(clientId))).toBe(LISTED);
    expect((await authorize(clientId, { redirect_uri: elsewhere })).error).toBeUndefined();
    await apply({ hosts: [LISTED, OTHER] });
    advanceSeconds(1);
    const moved = publish({ redirect_uris: [elsewhere] });
    expect(siteOf(await consentPage(moved, undefined, { redirect_uri: elsewhere }))).toBe(LISTED);
  });
});

describe('strangers', () => {
  test('cause a limited number of fetches and records', async () => {
    const statuses = [];
    const known = publish();
    await consentPage(known);
    const visitor = createPageVisitor();
    for (let i = 0; i < 40; i += 1) {
      statuses.push((await authorize(publish())).status);
    }
    expect(new Set(statuses)).toEqual(new Set([302, 429]));
    expect(site.dialed.length).toBeLessThanOrEqual(30);
    expect(statuses.at(-1)).toBe(429);
    advanceSeconds(31);
    site.handle = (_request, response) => response.writeHead(404).end();
    expect(siteOf(await consentPage(known, visitor))).toBe(LISTED);
    // The documents of the next minute exceed the bytes of an address.
    advanceSeconds(2 * MINUTE);
    for (let i = 0; i < 25; i += 1) {
      await authorize(publish());
    }
    expect((await authorize(publish())).status).toBe(429);
    const pending = await identity.clients.listDocuments();
    expect(pending.length).toBeLessThan(70);
    advanceSeconds(3 * 60 * MINUTE);
    expect((await authorize(publish())).status).toBe(302);
  });

  test('leave records that expire, unless a user allowed the access', async () => {
    const abandoned = publish();
    await consentPage(abandoned);
    const allowed = publish();
    await tokensOf(allowed);
    const now = Date.now() / 1000;
    const expiryOf = async (clientId: string) =>
      ((await identity.clients.find(clientId))?.document?.expiresAt ?? 0) - now;
    expect(await expiryOf(abandoned)).toBeLessThan(3 * 60 * MINUTE);
    expect(await expiryOf(allowed)).toBeGreaterThan(60 * DAY);
    expect(await expiryOf(allowed)).toBeLessThan(121 * DAY);
    advanceSeconds(3 * 60 * MINUTE);
    expect(await identity.clients.find(abandoned)).toBeUndefined();
    expect(await identity.clients.find(allowed)).toBeDefined();
    expect((await identity.clients.listDocuments()).map(({ clientId }) => clientId)).not.toContain(
      abandoned,
    );
    advanceSeconds(121 * DAY);
    expect(await identity.clients.find(allowed)).toBeUndefined();
  });
});
