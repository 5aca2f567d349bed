// requires: chromium
/** Twelve failures that operators meet, each diagnosed in two clicks from the overview. */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FailureReasonName, failureReasons } from '@gatehouse/errors';
import { openIdentity } from '@gatehouse/identity';
import { openOperators } from '@gatehouse/operators';
import { createStore } from '@gatehouse/store';
import {
  authorizeAsUser,
  codeOfApp,
  createPageVisitor,
  newPkce,
  postAs,
  until,
} from '@gatehouse/testing';
import { launchBrowser } from '@gatehouse/testing/browser';
import { startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { look } from './look.ts';

const operator = { username: 'olga', password: 'correct horse battery' };
const locked = { username: 'lena', password: 'correct horse battery' };
const visitorUser = { username: 'vera', password: 'correct horse battery' };
const careless = { username: 'otto', password: 'correct horse battery' };
const redirectUri = 'https://shop.example/callback';

const secureKeyOf = (clientId: string) => `${clientId}Key0123456789abcdef`;
const machine = (clientId: string, more: object = {}) => ({
  ...{ clientId, secureKey: secureKeyOf(clientId), name: clientId, orgId: 'org-1' },
  ...{ grantTypes: ['client_credentials'], scopes: ['device:read'], ...more },
});

const routesFile = join(temporaryFolder(), 'routes.json');
writeFileSync(
  routesFile,
  JSON.stringify({
    upstreams: { telemetry: { url: 'http://127.0.0.1:9' } },
    routes: [
      {
        operation: 'telemetry.read',
        method: 'GET',
        path: '/telemetry',
        upstream: 'telemetry',
        scope: 'device:read',
      },
    ],
  }),
);

const system = await startSystem({
  engine: 'sqlite',
  apps: ['authorization-server', 'gateway', 'console'],
  environment: { CLIENT_RATE_LIMIT: '6/60', ROUTES_FILE: routesFile },
  bootstrap: {
    organizations: [{ id: 'org-1', name: 'Acme Devices' }],
    operators: { roles: ['operations'] },
    resources: [
      {
        resource: 'https://billing.example',
        name: 'Billing',
        scopes: { 'bill:read': { description: { en: 'Read bills' } } },
      },
    ],
    clients: [
      machine('clock'),
      machine('legacy', { name: 'Old meter gateway', signatureAlgorithm: 'MD5' }),
      machine('digest'),
      machine('rotated'),
      machine('retired', { enabled: false }),
      machine('reader'),
      machine('billing', { scopes: ['bill:read'] }),
      machine('greedy'),
      machine('telemetry'),
      machine('elsewhere', { ipAllowList: ['203.0.113.0/24'] }),
      machine('shop', {
        grantTypes: ['authorization_code', 'refresh_token'],
        scopes: ['device:read', 'offline_access'],
        redirectUris: [redirectUri],
      }),
    ],
    users: [
      { ...operator, name: 'Olga Operator', orgId: 'org-1', roles: ['operations'] },
      { ...careless, name: 'Otto Operator', orgId: 'org-1', roles: ['operations'] },
      { ...locked, name: 'Lena Locked', orgId: 'org-1', roles: ['user'] },
      { ...visitorUser, name: 'Vera', orgId: 'org-1', roles: ['user'] },
    ],
  },
});
const { authorizationServerUrl: issuer, gatewayUrl, consoleUrl } = system;
const store = createStore(system.storeUrl);
const { masterKey } = system;
const identity = openIdentity({ store, masterKey });
const operators = openOperators(identity);
const browser = await launchBrowser();
afterAll(async () => {
  await browser.close();
  await store.close();
});

const credentialsOf = (clientId: string) => ({ clientId, secureKey: secureKeyOf(clientId) });
const ask = (clientId: string, form: Readonly<Record<string, string>>) =>
  postAs(`${issuer}/token`, credentialsOf(clientId), form);

async function tokenOf(clientId: string, more: Readonly<Record<string, string>> = {}) {
  const reply = await ask(clientId, { grant_type: 'client_credentials', ...more });
  return String(Reflect.get(Object(await reply.json()), 'access_token'));
}

const call = (path: string, token: string, method = 'GET') =>
  fetch(gatewayUrl + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(method === 'POST' && { body: '{"id":"d","name":"d","productId":"p","productName":"P"}' }),
  });

const callSigned = (
  clientId: string,
  secureKey: string,
  { algorithm = 'sha256', timestamp = Date.now() } = {},
) => {
  const query = 'pageSize=1';
  const digest = hash(algorithm, `${query}${timestamp}${secureKey}`, 'hex');
  const headers = { 'X-Client-Id': clientId, 'X-Timestamp': String(timestamp), 'X-Sign': digest };
  return fetch(`${gatewayUrl}/api/device?${query}`, { headers });
};

const authorization = (uri: string) => {
  const { pkce, verifier } = newPkce();
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id: 'shop', redirect_uri: uri, ...pkce },
    ...{ scope: 'device:read offline_access', prompt: 'consent' },
  });
  return { address: `${issuer}/authorize?${query}`, verifier };
};

interface Failure {
  readonly name: string;
  readonly reason: FailureReasonName;
  readonly clientId?: string;
  /** Completes the cause. */
  readonly finding?: string;
  readonly cause: () => Promise<unknown>;
}

const failures: readonly Failure[] = [
  {
    name: 'clock skew',
    ...{ reason: 'timestamp_out_of_range', clientId: 'clock' },
    cause: () => callSigned('clock', secureKeyOf('clock'), { timestamp: Date.now() - 20 * 60_000 }),
  },
  {
    name: 'wrong digest',
    ...{ reason: 'wrong_digest', clientId: 'digest' },
    cause: () => callSigned('digest', secureKeyOf('digest'), { algorithm: 'md5' }),
  },
  {
    name: 'revoked key',
    ...{ reason: 'token_revoked', clientId: 'rotated' },
    async cause() {
      const token = await tokenOf('rotated');
      await operators.clientKeys.rotate({ actor: 'cli' }, 'rotated', {});
      const [, old] = (await operators.clients.read('rotated')).client.keys;
      await operators.clientKeys.remove({ actor: 'cli' }, 'rotated', old?.keyId ?? '', {});
      await until(async () => (await call('/api/device', token)).status === 401);
    },
  },
  {
    name: 'disabled client',
    ...{ reason: 'client_disabled', clientId: 'retired' },
    cause: () => tokenOf('retired'),
  },
  {
    name: 'missing scope',
    ...{ reason: 'access_denied', clientId: 'reader', finding: 'needs the scope device:write' },
    cause: async () => call('/device-instance', await tokenOf('reader'), 'POST'),
  },
  {
    name: 'wrong resource',
    ...{ reason: 'token_for_other_resource', clientId: 'billing' },
    cause: async () =>
      call('/api/device', await tokenOf('billing', { resource: 'https://billing.example' })),
  },
  {
    name: 'rate limit',
    ...{ reason: 'client_rate_limit', clientId: 'greedy' },
    async cause() {
      const token = await tokenOf('greedy');
      await until(async () => (await call('/api/v1/none', token)).status === 429);
    },
  },
  {
    name: 'upstream down',
    ...{ reason: 'upstream_unreachable', clientId: 'telemetry' },
    cause: async () => call('/telemetry', await tokenOf('telemetry')),
  },
  {
    name: 'redirect URI with a trailing slash',
    ...{ reason: 'invalid_redirect_uri', clientId: 'shop' },
    cause: () => fetch(authorization(`${redirectUri}/`).address),
  },
  {
    name: 'locked user',
    reason: 'account_locked',
    async cause() {
      const visitor = createPageVisitor();
      for (let attempt = 0; attempt < 12; attempt += 1) {
        let page = await visitor.get(`${issuer}/account`);
        while (page.location !== undefined) {
          page = await visitor.get(page.location);
        }
        await visitor.submit(page, { ...locked, password: 'wrong' });
      }
    },
  },
  {
    name: 'address not allowed',
    ...{ reason: 'address_not_allowed', clientId: 'elsewhere' },
    cause: () => callSigned('elsewhere', secureKeyOf('elsewhere')),
  },
  {
    name: 'expired refresh token',
    ...{ reason: 'refresh_token_unknown', clientId: 'shop' },
    async cause() {
      const { address, verifier } = authorization(redirectUri);
      const landed = await authorizeAsUser(address, visitorUser);
      const code = landed.searchParams.get('code') ?? '';
      const grant = { grant_type: 'authorization_code', redirect_uri: redirectUri };
      const tokens = await ask('shop', { ...grant, code, code_verifier: verifier });
      const { refresh_token = '' } = Object(await tokens.json());
      // The store deletes an expired token.
      const { tokenIds } = (await identity.revocations.find(refresh_token)) ?? { tokenIds: [] };
      expect(tokenIds).toHaveLength(1);
      await store.delete([`oidc:RefreshToken:${identity.credentialHash(refresh_token)}`]);
      await ask('shop', { grant_type: 'refresh_token', refresh_token });
    },
  },
];

let page: Page;

/** Until the servers have written their log and their figures. */
beforeAll(async () => {
  await seedFigures();
  for (const { cause } of failures) {
    await cause();
  }
  await until(async () => {
    const known = new Set((await operators.figures.read('1h')).reasons.map(({ name }) => name));
    const missing = failures.filter(({ reason }) => !known.has(reason)).map(({ reason }) => reason);
    expect(missing).toEqual([]);
  });
  page = await signIn();
}, 60_000);

/** An hour of traffic, for the plots. */
async function seedFigures(): Promise<void> {
  let at = 0;
  const past = openIdentity({ store, masterKey, now: () => at });
  const bounds = ['0.005', '0.01', '0.025', '0.1', '0.5', '2.5', '10', '+Inf'];
  for (let minute = 1; minute < 60; minute += 1) {
    at = Date.now() - minute * 60_000;
    const wave = 60 + Math.round(30 * Math.sin(minute / 7)) + (minute % 5);
    const shares = [0.6, 0.8, 0.9, 0.97, 0.995, 1, 1, 1];
    await past.timeSeries.add('gateway', {
      outcomes: new Map([
        ['success', wave * 40],
        ['refused', wave + (minute > 20 && minute < 30 ? 900 : 0)],
        ['failed', minute % 17],
      ]),
      durations: new Map(
        bounds.map((le, index) => [le, Math.round(wave * 40 * (shares[index] ?? 1))]),
      ),
      verifications: new Map([
        ['bearer accepted', wave * 30],
        ['signature accepted', wave * 8],
        ['access-token accepted', wave * 2],
      ]),
      clients: new Map([['reader', wave * 30]]),
    });
    await past.timeSeries.add('authorization-server', {
      tokens: new Map([
        ['client_credentials', wave],
        ['authorization_code', minute % 9],
        ['refresh_token', 10 + (minute % 7)],
      ]),
    });
  }
}

async function signIn(): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const opened = await context.newPage();
  opened.setDefaultTimeout(10_000);
  await opened.goto(`${consoleUrl}/overview?period=1h`);
  await opened.locator('#username').fill(operator.username);
  await opened.locator('#password').fill(operator.password);
  await opened.locator('button.primary').click();
  const secret = ((await opened.locator('span.code').textContent()) ?? '').replaceAll(' ', '');
  await opened.locator('#code').fill(codeOfApp(secret));
  await opened.locator('button.primary').click();
  await opened.locator('li.code').first().waitFor();
  await opened.locator('button.primary').click();
  await opened.waitForURL(`${consoleUrl}/overview?period=1h`);
  return opened;
}

test.each(failures)('two clicks lead from the overview to the cause: $name', async (failure) => {
  const { reason, clientId, finding = '' } = failure;
  const { cause, fix } = failureReasons[reason];
  await page.goto(`${consoleUrl}/overview?period=1h`);
  await page.locator('a', { hasText: new RegExp(`^${reason}$`) }).click();
  // The list of causes already has the cause.
  await page.locator('h1', { hasText: 'Requests' }).waitFor();
  expect(await page.locator('main').textContent()).toContain(cause);
  await page.locator('tbody a[href^="/requests/"]').first().click();
  await page.locator('.stages').waitFor();
  const shown = (await page.locator('main').textContent()) ?? '';
  expect(shown).toContain(cause);
  expect(shown).toContain(fix);
  expect(shown).toContain(finding);
  expect(await page.locator('.stages li.bad').count()).toBe(1);
  if (clientId !== undefined) {
    expect(await page.locator(`main a[href="/clients/${clientId}"]`).count()).toBeGreaterThan(0);
  }
});

test('a user and an organization lead to their own requests', async () => {
  const { userId } = await operators.users.find(locked.username);
  await page.goto(`${consoleUrl}/users/${userId}`);
  await page.locator('main a', { hasText: /^Requests$/ }).click();
  await page.locator('tbody a[href^="/requests/"]').first().click();
  await page.locator('.stages').waitFor();
  expect(await page.locator('main').textContent()).toContain('account_locked');
  expect(await page.locator(`.facts a[href="/users/${userId}"]`).count()).toBe(1);
  await page.goto(`${consoleUrl}/organizations/org-1`);
  await page.locator('main a', { hasText: /^Requests$/ }).click();
  expect(await page.locator('tbody a[href="/clients/shop"]').count()).toBeGreaterThan(0);
  await page.goto(`${consoleUrl}/requests?orgId=elsewhere`);
  expect(await page.locator('tbody a').count()).toBe(0);
});

test('each finding leads to its client or user', async () => {
  const { userId } = await operators.users.find(careless.username);
  await page.goto(`${consoleUrl}/overview`);
  const expected: readonly (readonly [string, string])[] = [
    ['Operators without a second factor', `/users/${userId}`],
    ['Clients sign with MD5', '/clients/legacy'],
  ];
  for (const [title, address] of expected) {
    const finding = page.locator('.findings > li', { hasText: title });
    expect(await finding.locator(`a[href="${address}"]`).count()).toBe(1);
  }
});

test('every page is accessible in both languages, both schemes and both sizes', async () => {
  const { items } = await operators.requests.list({ reason: 'timestamp_out_of_range' });
  const places = {
    overview: '/overview?period=1h',
    requests: '/requests',
    filtered: '/requests?reason=wrong_digest&since=2026-01-01T00:00',
    request: `/requests/${items[0]?.requestId}`,
    missing: '/requests/0c9c1f6e-5a1e-4c56',
    findings: '/findings',
  };
  for (const language of ['zh-CN', 'en']) {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(consoleUrl);
    await page.locator(`[name=language][value=${language}]`).click();
    await page.locator(`html[lang=${language}]`).waitFor();
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 });
      for (const [name, path] of Object.entries(places)) {
        await page.goto(consoleUrl + path);
        await look(page, `${language}-${name}`);
      }
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}, 120_000);

test('a pasted id opens the request, and new requests appear while an operator follows them', async () => {
  const [entry] = (await operators.requests.list({ clientId: 'digest' })).items;
  await page.goto(`${consoleUrl}/requests`);
  await page.locator('#find-id').fill(` ${entry?.requestId} `);
  await page.locator('.find button').click();
  await page.waitForURL(`${consoleUrl}/requests/${entry?.requestId}`);
  await page.goto(`${consoleUrl}/requests?clientId=digest&follow=1`);
  const rows = page.locator('#live-requests section:last-child tbody tr');
  const before = await rows.count();
  await callSigned('digest', secureKeyOf('digest'), { algorithm: 'md5' });
  await until(async () => (await rows.count()) === before + 1);
  expect(await page.locator('#live-stopped').isHidden()).toBe(true);
});

test('the export has one JSON line for each request of the filter', async () => {
  const { status, body } = await page.evaluate(async () => {
    const reply = await fetch('/requests/export?clientId=digest');
    return { status: reply.status, body: await reply.text() };
  });
  const lines = body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(status).toBe(200);
  expect(lines.length).toBeGreaterThan(1);
  expect(new Set(lines.map((line) => line.clientId))).toEqual(new Set(['digest']));
});
