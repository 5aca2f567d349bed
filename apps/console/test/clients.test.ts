// requires: curl
/** The screens of clients: find, create, rotate, narrow and end, with the effect first. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { VisitedPage } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { addClients, odd } from './client-fixtures.ts';
import { startConsole } from './in-process-console.ts';
import { browsing } from './installation.ts';

const gatehouse = await startConsole();
const { url, issuer, identity } = gatehouse;
const { newKey, oldKey, token } = await addClients(gatehouse);
const { visitor } = await gatehouse.signIn();

const { open, act } = browsing(visitor, url);

const textOf = ({ body }: VisitedPage) =>
  body
    .replace(/<[^>]+>/g, '')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');

test('the list finds clients by the start of a name or id, by organization and by state', async () => {
  const idsOf = async (query: string) =>
    [...(await open(`/clients${query}`)).body.matchAll(/<small><code[^>]*>([^<]*)</g)].map(
      ([, id]) => id,
    );
  expect(await idsOf('?search=leg')).toEqual(['legacy']);
  expect(await idsOf('?search=Web')).toEqual(['shop']);
  expect(await idsOf('?orgId=org-2')).toEqual(['odd']);
  expect(await idsOf('?disabled=true')).toEqual(['idle']);
  const page = await open('/clients?search=zzz');
  expect(page.body).toContain('No client matches.');
  expect((await open('/clients')).body).not.toContain('Next page');
});

test('one client shows its use, and what it should migrate from', async () => {
  const page = textOf(await open('/clients/legacy'));
  expect(page).toMatch(/Succeeded1,284Last 24 hours\s*Failed372\.8% of all/);
  expect(page).toContain('No gateway reports its limit.');
  await identity.processes.enter().report({
    ...{ app: 'gateway', version: '1', ready: true, checks: {} },
    settings: [{ name: 'CLIENT_RATE_LIMIT', value: '6000/60', origin: 'default' }],
  });
  expect(textOf(await open('/clients/legacy'))).toMatch(
    /Requests6,000 in 60 seconds\s*Busiest minute of the last hour1,284 \(21\.4% of the limit\)/,
  );
  const migration = textOf(await open('/clients/legacy?tab=migration'));
  expect(migration).toContain('3 of 5 old practices are off');
  expect(migration).toMatch(/MD5In use(now|\d+ seconds? ago)Sign with version 2/);
  expect(migration).toMatch(/Signature version 2In use/);
  expect(migration).toMatch(/Token in a queryIn use/);
  expect(migration).toMatch(/Implicit grantNot allowedNot seen/);
  expect(textOf(await open('/clients/shop?tab=migration'))).toContain('Allowed, not in use');
  const aged = textOf(await open('/clients/old?tab=migration'));
  expect(aged).toMatch(/MD5Not allowedNot seen in 40 days/);
});

test('nothing changes the client of the console, which has no record', async () => {
  const path = `/clients/${encodeURIComponent('gatehouse:console')}`;
  for (const tab of ['overview', 'keys', 'redirects']) {
    const { status, body } = await open(`${path}?tab=${tab}`);
    expect([tab, status, body.includes(`"${path}/`)]).toEqual([tab, 200, false]);
    expect(body).not.toContain('href="/organizations/"');
  }
  for (const name of ['disable', 'remove', 'revoke']) {
    const rejected = await act(`${path}/${name}`, `${path}/${name}`);
    expect([name, rejected.body.includes('is part of Gatehouse')]).toEqual([name, true]);
  }
});

test('the tester compares a redirect URI as the authorization server does', async () => {
  const ask = async (client: string, uri: string) => {
    const query = new URLSearchParams({ tab: 'redirects', uri });
    const shown = textOf(await open(`/clients/${client}?${query}`));
    const asked = new URLSearchParams({
      ...{ client_id: client, redirect_uri: uri, response_type: 'code' },
      ...{ code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', state: 'x' },
      ...{ code_challenge_method: 'S256', scope: 'openid' },
    });
    const reply = await fetch(`${issuer}/authorize?${asked}`, { redirect: 'manual' });
    expect([uri, shown.includes('Accepted.')]).toEqual([uri, reply.status === 302]);
    return shown;
  };
  await ask('shop', 'https://shop.example/callback');
  expect(await ask('shop', 'https://shop.example/callback/')).toContain('in the trailing slash');
  expect(await ask('shop', 'https://shop.example/')).toContain('in the trailing slash');
  expect(await ask('shop', 'https://shop.example/Callback')).toContain('in upper and lower case');
  await ask('shop', 'https://shop.example:8443/callback');
  await ask('phone', 'http://127.0.0.1:4711/callback');
});

test('redirect URIs are changed together, and a wrong one is a problem of the field', async () => {
  const action = '/clients/shop/redirects';
  const path = '/clients/shop?tab=redirects';
  const rejected = await act(path, action, { redirectUris: 'https://shop.example/*' });
  expect([rejected.status, rejected.body]).toEqual([
    422,
    expect.stringContaining('id="redirects-redirectUris-problem"'),
  ]);
  const redirectUris = 'https://shop.example/callback\r\nhttps://shop.example/second';
  expect((await act(path, action, { redirectUris })).location).toBe(url + path);
  expect((await identity.clients.find('shop'))?.redirectUris).toEqual(redirectUris.split('\r\n'));
});

test.each([
  { kind: 'web', redirectUris: 'https://new.example/cb', reply: 'request_uri' },
  { kind: 'spa', redirectUris: 'https://new.example/cb', reply: 'request_uri' },
  { kind: 'native', redirectUris: '', reply: 'user_code' },
  { kind: 'machine', redirectUris: undefined, reply: 'access_token' },
])('the wizard creates a client whose command works: %j', async ({ kind, redirectUris, reply }) => {
  const path = `/new-client?kind=${kind}`;
  const clientId = `new-${kind}'s`;
  const fields = { name: `New ${kind}`, clientId, orgId: 'org-1' };
  const created = await act(path, '/new-client/create', {
    ...fields,
    scopes: kind === 'machine' ? 'device:read' : 'openid',
    ...(redirectUris !== undefined && { redirectUris }),
  });
  expect(created.status).toBe(200);
  const [, command = ''] = /<pre translate="no">([\s\S]*?)<\/pre>/.exec(created.body) ?? [];
  const shell = textOf({ ...created, body: command });
  const { stdout } = await promisify(execFile)('sh', ['-c', shell]);
  expect(Object.keys(JSON.parse(stdout))).toContain(reply);
  const client = await identity.clients.find(clientId);
  expect([client?.public, client?.corsOrigins]).toEqual([
    kind === 'spa' || kind === 'native',
    kind === 'spa' ? ['https://new.example'] : [],
  ]);
  const again = await act(path, '/new-client/create', { ...fields, scopes: '', redirectUris: '' });
  expect([again.status, again.body.includes(`value="New ${kind}"`)]).toEqual([422, true]);
});

test('a signing client can use signature version 2 only', async () => {
  const created = await act('/new-client?kind=signing', '/new-client/create', {
    ...{ name: 'Signer', clientId: 'signer', orgId: 'org-1', scopes: 'device:read' },
  });
  expect(created.body).toContain('npx gatehouse sign GET');
  expect(await identity.clients.find('signer')).toMatchObject({
    signatureAlgorithm: 'HMAC-SHA-256',
    grantTypes: [],
  });
});

test('a rotation adds a key that is shown once, and removes the old one with its tokens', async () => {
  const old = await token();
  expect(textOf(await open('/clients/fleet?tab=keys'))).toContain('Add a key');
  const added = await act('/clients/fleet?tab=keys', '/clients/fleet/add-key');
  const [, secureKey = ''] = /<code translate="no">(\w{32})</.exec(added.body) ?? [];
  expect(added.headers.get('cache-control')).toBe('no-store');
  const waiting = await open('/clients/fleet?tab=keys');
  expect(textOf(waiting)).toContain('The new key has not been used yet.');
  expect(textOf(waiting)).toContain('The old key was used in the last 24 hours.');
  expect(waiting.body).not.toContain(secureKey);
  const client = await identity.clients.find('fleet');
  expect(identity.clients.verifySecret(client, secureKey)).toBe(true);
  const [, remove = ''] = /href="(\/clients\/fleet\/remove-key\?[^"]*)"/.exec(waiting.body) ?? [];
  const effect = await open(remove);
  expect(textOf(effect)).toContain('the tokens that were issued with it end');
  expect(textOf(await open(`${remove}&keepTokens=true`))).toContain('stay valid until they expire');
  const done = await act(remove, '/clients/fleet/remove-key');
  expect(done.location).toBe(`${url}/clients/fleet?tab=keys`);
  expect((await identity.revocations.find(old))?.isRevoked).toBe(true);
});

test('the version and the last use of each key are shown, and a silent key can be removed', async () => {
  const keys = textOf(await open('/clients/legacy?tab=keys'));
  expect(keys).toMatch(new RegExp(`${newKey}New.*Signature version 2`, 's'));
  expect(keys).toMatch(new RegExp(`${oldKey}Old.*Signature version 1, MD5`, 's'));
  const silent = textOf(await open('/clients/old?tab=keys'));
  expect(silent).toContain('The old key was last used 2 days ago.');
});

test('a scope is removed after its effect was named', async () => {
  const path = '/clients/legacy/narrow?scope=device:write';
  expect(textOf(await open(path))).toContain('Legacy poller loses device:write at once');
  expect((await act(path, '/clients/legacy/narrow')).status).toBe(303);
  expect((await identity.clients.find('legacy'))?.scopes).toEqual(['device:read']);
});

test('disabling, enabling and removing name what ends, and are audited', async () => {
  const path = '/clients/shop';
  expect(textOf(await open(`${path}/disable`))).toContain('This ends 0 tokens.');
  await act(`${path}/disable`, `${path}/disable`);
  expect((await identity.clients.find('shop'))?.enabled).toBe(false);
  await act(path, `${path}/enable`);
  expect((await identity.clients.find('shop'))?.enabled).toBe(true);
  expect(textOf(await open(`${path}/remove`))).toContain('This removes Web shop with 1 key');
  const removed = await act(`${path}/remove`, `${path}/remove`);
  expect(removed.location).toBe(`${url}/clients`);
  expect(await identity.clients.find('shop')).toBeUndefined();
  await identity.audit.flush();
  const entries = await identity.audit.read({ clientId: 'shop', limit: 10 });
  expect(entries.map((entry) => Object(entry).change)).toEqual(
    expect.arrayContaining(['changed', 'disabled', 'enabled', 'removed']),
  );
  expect(entries.every(({ actor }) => actor === 'console')).toBe(true);
});

test('stored texts are never markup', async () => {
  const id = encodeURIComponent(odd);
  for (const path of [
    ...['', '?tab=keys', '?tab=redirects&uri=%22%3E%3C%69mg%3E', '?tab=migration', '/disable'],
    ...['/remove', '/revoke', '/narrow?scope=%3C%69mg%3E'],
  ].map((rest) => `/clients/${id}${rest}`)) {
    const page = await open(path);
    expect([path, page.status]).toEqual([path, 200]);
    expect(page.body).not.toMatch(/<img|<script>alert/);
    expect(page.body).toContain('&lt;img src=x onerror=alert(1)&gt;');
  }
  expect((await open('/clients')).body).not.toMatch(/<img|<script>alert/);
  expect((await open('/new-client?kind=web')).body).not.toMatch(/<img|<script>alert/);
});
