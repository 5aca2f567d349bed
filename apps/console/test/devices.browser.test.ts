// requires: chromium
/** The screens of devices, with a real device service: lists, limits, outages, and the explorer. */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { machineToken, until } from '@gatehouse/testing';
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { listenForTests, startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { hostile, installation, newVisitor, operator, signInAt } from './installation.ts';

const machine = (clientId: string, orgId: string) => ({
  ...{ clientId, orgId, name: clientId, secureKey: `${clientId}Key0123456789abcdef` },
  ...{ grantTypes: ['client_credentials'], scopes: ['device:read', 'device:write'] },
});
const machines = [machine('harbor', 'org-1'), machine('meadow', 'org-2')];
const system = await startSystem({
  engine: 'sqlite',
  apps: ['authorization-server', 'gateway', 'device-service', 'console'],
  bootstrap: { ...installation, clients: [...installation.clients, ...machines] },
});
const { consoleUrl, gatewayUrl } = system;
const store = createStore(system.storeUrl);
const { requestLog } = openIdentity({ store, masterKey: system.masterKey });
const visitor = newVisitor();
const tokens = new Map(
  await Promise.all(
    machines.map(
      async ({ clientId, secureKey }) =>
        [clientId, await machineToken(system, secureKey, clientId)] as const,
    ),
  ),
);
const call = (clientId: string, method: string, path: string, body?: object) =>
  fetch(gatewayUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${tokens.get(clientId)}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });

const pumps = Array.from({ length: 30 }, (_value, index) => ({
  ...{ id: `pump-${index + 10}`, name: `Pump ${index + 10}`, productId: 'pump' },
  productName: 'Pump',
}));
const meter = { id: 'meter_1', name: 'Meter', productId: 'meter', productName: 'Meter' };
const odd = {
  ...{ id: 'odd', name: hostile, productId: hostile, productName: hostile },
  ...{ protocol: hostile, transport: hostile },
  configuration: { [hostile]: 'the secret of a device' },
};
beforeAll(async () => {
  const tag = { key: 'site', value: hostile };
  const replies = [
    await call('harbor', 'POST', '/api/v1/device', [...pumps, meter]),
    await call('harbor', 'POST', '/api/v1/device/pump-11/_deploy'),
    // The log has every call that fails.
    await call('harbor', 'POST', '/api/v1/device/pump-11/_deploy', {}),
    await call('meadow', 'POST', '/device/instance', odd),
    await call('meadow', 'PATCH', '/api/v1/device/odd/tag', tag),
    await call('meadow', 'GET', '/api/v1/device/gone'),
  ];
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 400, 200, 200, 404]);
  await signInAt(visitor, `${consoleUrl}/devices`, operator);
});

const open = (path: string) => visitor.get(consoleUrl + path, { 'sec-fetch-dest': 'document' });
const idsIn = (body: string) =>
  [...body.matchAll(/href="\/devices\/org-1\/([^"]+)"/g)].map(([, id]) => id);
/** Of requests to a server that never answers. */
const seen: string[] = [];
const silent = createServer(({ headers }) => seen.push(headers.authorization ?? ''));
const silentPort = await listenForTests(silent, '127.0.0.1');
const browser = await launchBrowser();
afterAll(async () => {
  await browser.close();
  await store.close();
});

test('an operator chooses an organization, and pages through its devices', async () => {
  expect((await open('/devices')).body).toContain('href="/devices?orgId=org-1"');
  const first = await open('/devices?orgId=org-1');
  expect(idsIn(first.body)).toEqual(['meter_1', ...pumps.slice(0, 24).map(({ id }) => id)]);
  const [, next = ''] = /rel="next" href="([^"]*)"/.exec(first.body) ?? [];
  const second = await open(next.replaceAll('&amp;', '&'));
  expect(idsIn(second.body)).toEqual(pumps.slice(24).map(({ id }) => id));
  expect(second.body).not.toContain('rel="next"');
});

test.each([
  ['search=pump-11', ['pump-11']],
  ['search=Meter', ['meter_1']],
  ['search=meter_', ['meter_1']],
  ['search=%25', []],
  ['search=pump_', []],
  ['state=offline', ['pump-11']],
  ['state=offline&productId=meter', []],
  ['productId=meter&search=&state=', ['meter_1']],
  ['search=pump-1&cursor=pump-18', ['pump-19']],
])('the filter %s finds %j', async (filter, ids) => {
  expect(idsIn((await open(`/devices?orgId=org-1&${filter}`)).body)).toEqual(ids);
});

test.each([
  '/devices/org-2/pump-11',
  '/devices/org-1/odd',
  '/devices/none/pump-11',
  '/devices/org-1/_query',
  '/devices/org-1/..%2F11',
  '/devices/org-1/pump-11%3Fx',
  '/devices?orgId=none',
])('the devices of an organization are in no other one: %s', async (path) => {
  expect((await open(path)).status).toBe(404);
});

async function restartConsole(environment: Readonly<Record<string, string>> = {}) {
  const member = system.member('console');
  await member.process.stop();
  await member.start(environment);
}

test('the token of the console reads the devices of one organization, and expires', async () => {
  await restartConsole({ DEVICE_SERVICE_URL: `http://127.0.0.1:${silentPort}` });
  // The server never answers.
  expect((await open('/devices?orgId=org-1')).status).toBe(503);
  const { exp = 0, iat = 0, ...claims } = decodeJwt(seen[0]?.split(' ')[1] ?? '');
  expect(exp - iat).toBe(60);
  expect(claims).toMatchObject({
    ...{ iss: gatewayUrl, aud: 'device-service', org: 'org-1', scope: 'device:read' },
    ...{ client_id: 'gatehouse:console', sub: expect.stringMatching(/^[\da-f]{32}$/) },
  });
});

test('a console without the right addresses names them', async () => {
  await restartConsole({ GATEWAY_URL: 'http://localhost:8844' });
  const rejected = await open('/devices?orgId=org-1');
  expect([rejected.status, rejected.body.includes('GATEWAY_URL')]).toEqual([503, true]);
  expect(await system.output()).toContain('The device service replied with 401.');
  await restartConsole({ DEVICE_SERVICE_URL: '' });
  const unset = await open('/devices?orgId=org-1');
  expect([unset.status, unset.body.includes('DEVICE_SERVICE_URL')]).toEqual([200, true]);
  expect((await open('/devices/org-1/pump-11')).status).toBe(404);
  await restartConsole();
});

test('stored text of devices is escaped in every field, and no value of a configuration is shown', async () => {
  for (const path of ['/devices?orgId=org-2', '/devices/org-2/odd']) {
    const page = await open(path);
    expect([path, page.status, page.body.includes('<img')]).toEqual([path, 200, false]);
    expect(page.body).toContain('&lt;img');
    expect(page.body).not.toContain('\u202e');
    expect(page.body).not.toContain('the secret of a device');
  }
  const { body } = await open('/devices/org-2/odd');
  // The product, the connection and the tags.
  expect(body.match(/<dd>(?:(?!<\/dd>).)*&lt;img(?:(?!<\/dd>).)*<\/dd>/g)).toHaveLength(3);
});

test('a device has the latest calls for devices by clients of its organization', async () => {
  const callsOf = async (path: string) => {
    const { body } = await open(path);
    return body.slice(body.indexOf('<caption'));
  };
  await until(async () => (await callsOf('/devices/org-2/odd')).includes('device.detail'));
  expect(await callsOf('/devices/org-2/odd')).toContain('href="/clients/meadow"');
  expect(await callsOf('/devices/org-1/pump-11')).not.toContain('meadow');
  expect(await callsOf('/devices/org-1/pump-11')).toContain('device.deploy');
  const entry = { app: 'gateway', verified: true, aborted: false, durationMs: 1 };
  const ofUser = { clientId: 'harbor', userId: 'a1b2c3d4e5', operation: 'tag.set' };
  const origin = { at: Date.now(), requestId: 'request-of-a-user', addressGroup: '192.0.2.1' };
  requestLog.record({ ...entry, ...ofUser, ...origin });
  requestLog.record({ ...entry, ...ofUser, ...origin, operation: 'product.list', userId: 'other' });
  await requestLog.flush();
  const shown = await callsOf('/devices/org-1/pump-11');
  expect(shown).toMatch(/href="\/clients\/harbor".*href="\/users\/a1b2c3d4e5"/);
  expect(shown).not.toContain('product.list');
});

test('the screens are accessible, change nothing, and open the explorer', async () => {
  const context = await browser.newContext({ locale: 'en-US' });
  await context.addCookies(
    [...visitor.cookies].map(([key, value]) => {
      const [name = '', path = '/'] = key.split('|');
      return { name, value, path, domain: 'localhost' };
    }),
  );
  const page = await context.newPage();
  const places = ['/devices', '/devices?orgId=org-1', '/devices?orgId=org-2', '/devices/org-2/odd'];
  for (const language of ['en', 'zh-CN']) {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${consoleUrl}/devices`);
    await page.locator(`[name=language][value=${language}]`).click();
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      for (const place of places) {
        await page.goto(consoleUrl + place);
        expect([place, await accessibilityProblems(page)]).toEqual([place, []]);
        const html = page.locator(`html[lang=${language}]`);
        const overflow = html.evaluate((element) => element.scrollWidth - element.clientWidth);
        expect([place, await overflow]).toEqual([place, 0]);
        expect(await page.locator('main form[method=post]').count()).toBe(0);
      }
    }
  }
  await page.goto(`${consoleUrl}/devices/org-1/pump-11`);
  await page.locator('.title a', { hasText: 'API' }).click();
  await page.locator('#path-deviceId').waitFor();
  expect(new URL(page.url()).origin).toBe(gatewayUrl);
  expect(await page.locator('#operation').inputValue()).toBe('device.detail');
  expect(await page.locator('#path-deviceId').inputValue()).toBe('pump-11');
  await context.close();
});

test('a device service that does not answer is a page with 503', async () => {
  await system.member('device-service').process.stop();
  for (const path of ['/devices?orgId=org-1', '/devices/org-1/pump-11']) {
    const page = await open(path);
    expect([path, page.status]).toEqual([path, 503]);
    expect(page.headers.get('retry-after')).toBe('1');
    expect(page.body).toContain('The device service is unavailable');
  }
  expect((await open('/devices')).status).toBe(200);
});

test('the console reaches a device service on a Unix socket', async () => {
  const environment = { DEVICE_SERVICE_SOCKET: join(temporaryFolder(), 'device-service.sock') };
  await system.member('device-service').start(environment);
  await restartConsole({ ...environment, DEVICE_SERVICE_URL: 'http://127.0.0.1:9' });
  expect((await open('/devices/org-1/pump-11')).body).toContain('Pump 11');
});
