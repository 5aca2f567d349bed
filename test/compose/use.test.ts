import { authorizeAsUser, basic, createPageVisitor, until } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { chromium } from 'playwright-core';
import {
  callGateway,
  createDevice,
  redirectUri,
  registerUsers,
  requestToken,
  sign,
  type Users,
} from './clients.ts';
import { createTier, type Tier } from './tier.ts';

let tier: Tier;
let users: Users;

beforeAll(async () => {
  tier = await createTier();
  await tier.up();
  users = await registerUsers(tier);
  expect(await createDevice(tier, users.web, 'pump-1')).toMatchObject({ status: 200 });
}, 180_000);
afterAll(() => tier.remove());

function authorizationUrl(parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams({ redirect_uri: redirectUri, state: 'xyz', ...parameters });
  return `${tier.authorizationServerUrl}/authorize?${query}`;
}

/** The values that a user enters on the pages of a device sign-in. */
function answersTo(body: string, { user_code }: { readonly user_code: string }) {
  const has = (name: string) => body.includes(`name="${name}"`);
  return {
    ...(has('user_code') && { user_code }),
    ...(has('confirm') && { confirm: 'yes' }),
    ...(has('password') && users.alice),
    ...(has('decision') && { decision: 'allow' }),
  };
}

function listWith(token: string | undefined) {
  return callGateway(tier, '/api/device', { headers: { authorization: `Bearer ${token}` } });
}

const devices = {
  status: 200,
  body: { code: 'success', result: [{ id: 'pump-1', orgId: 'acme' }] },
};

describe('every grant, through the published ports', () => {
  test('client_credentials', async () => {
    const { status, body } = await requestToken(tier, users.web, {
      grant_type: 'client_credentials',
    });
    expect(status).toBe(200);
    expect(await listWith(body.access_token)).toMatchObject(devices);
  });

  test('password, and refresh_token', async () => {
    const first = await requestToken(tier, users.web, { grant_type: 'password', ...users.alice });
    expect(first.status).toBe(200);
    const second = await requestToken(tier, users.web, {
      grant_type: 'refresh_token',
      refresh_token: first.body.refresh_token ?? '',
    });
    expect(second.status).toBe(200);
    expect(await listWith(second.body.access_token)).toMatchObject(devices);
  });

  test('authorization_code, by a user in a browser', async () => {
    const browser = await chromium.launch({
      executablePath: '/usr/bin/chromium',
      args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    });
    try {
      const page = await browser.newPage();
      await page.route(`${redirectUri}*`, (route) => route.fulfill({ body: 'landed' }));
      await page.goto(authorizationUrl({ response_type: 'code', client_id: users.web.clientId }));
      await page.getByLabel('Username').fill(users.alice.username);
      await page.getByLabel('Password').fill(users.alice.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL(`${redirectUri}*`);
      const landing = new URL(page.url());
      expect(landing.searchParams.get('state')).toBe('xyz');
      const { status, body } = await requestToken(tier, users.web, {
        grant_type: 'authorization_code',
        code: landing.searchParams.get('code') ?? '',
        redirect_uri: redirectUri,
      });
      expect(status).toBe(200);
      expect(await listWith(body.access_token)).toMatchObject(devices);
    } finally {
      await browser.close();
    }
  });

  test('implicit', async () => {
    const url = authorizationUrl({ response_type: 'token', client_id: users.implicit.clientId });
    const landing = await authorizeAsUser(url, users.alice);
    const answer = new URLSearchParams(landing.hash.slice(1));
    expect(answer.get('state')).toBe('xyz');
    expect(await listWith(answer.get('access_token') ?? '')).toMatchObject(devices);
  });

  test('device_code', async () => {
    const { web } = users;
    const reply = await fetch(`${tier.authorizationServerUrl}/device/auth`, {
      method: 'POST',
      headers: { authorization: basic(web.clientId, web.secureKey) },
      body: new URLSearchParams({ client_id: web.clientId }),
    });
    const asked = (await reply.json()) as Record<string, string>;
    const visitor = createPageVisitor();
    let page = await visitor.get(asked.verification_uri ?? '');
    for (
      let step = 0;
      step < 12 && !(page.status === 200 && !page.body.includes('<form'));
      step += 1
    ) {
      page =
        page.location === undefined
          ? await visitor.submit(page, answersTo(page.body, { user_code: asked.user_code ?? '' }))
          : await visitor.get(page.location);
    }
    const { status, body } = await requestToken(tier, web, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: asked.device_code ?? '',
    });
    expect([status, body.error]).toEqual([200, undefined]);
    expect(await listWith(body.access_token)).toMatchObject(devices);
  });
});

describe('every way to authenticate at the gateway', () => {
  test('a signed request, with a signed reply', async () => {
    const query = 'pageIndex=0&pageSize=5';
    const reply = await fetch(`${tier.gatewayUrl}/api/device?${query}`, {
      headers: sign(users.web, query),
    });
    expect(await reply.json()).toMatchObject(devices.body);
    expect(reply.headers.get('x-sign')).toMatch(/^[0-9a-f]{64}$/);
  });

  test('an X-Access-Token from a signed request', async () => {
    const body = JSON.stringify({ expires: 600 });
    const issued = await callGateway(tier, '/api/v1/token', {
      method: 'POST',
      headers: { ...sign(users.web, body), 'content-type': 'application/json' },
      body,
    });
    const headers = { 'x-access-token': String(issued.body.result) };
    expect(await callGateway(tier, '/api/device', { headers })).toMatchObject(devices);
  });

  test('an access token, in the header and in the query', async () => {
    const { body } = await requestToken(tier, users.web, { grant_type: 'client_credentials' });
    expect(await listWith(body.access_token)).toMatchObject(devices);
    const path = `/api/device?access_token=${body.access_token}`;
    expect(await callGateway(tier, path)).toMatchObject(devices);
  });

  test('no request without a credential', async () => {
    expect(await callGateway(tier, '/api/device')).toMatchObject({ status: 401 });
    expect(await listWith('x'.repeat(43))).toMatchObject({ status: 401 });
    const headers = { ...sign(users.web, 'a=1'), 'x-forwarded-for': '127.0.0.1' };
    expect(await callGateway(tier, '/api/device?a=2', { headers })).toMatchObject({ status: 401 });
  });
});

test('the explorer has every file that its page names', async () => {
  const page = await (await fetch(`${tier.gatewayUrl}/explorer`)).text();
  const files = [...page.matchAll(/(?:href|src)="(explorer\/[^"]+)"/g)].map(([, file]) => file);
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    expect([file, (await fetch(`${tier.gatewayUrl}/${file}`)).status]).toEqual([file, 200]);
  }
});

describe('one request id', () => {
  async function appsThatLogged(requestId: string): Promise<readonly string[]> {
    const log = await tier.compose('logs', '--no-color', '--no-log-prefix');
    const lines = log.split('\n').filter((line) => line.includes(`"requestId":"${requestId}"`));
    return lines.map((line) => /"app":"([\w-]+)"/.exec(line)?.[1] ?? '').toSorted();
  }

  test('follows a request from nginx to the gateway and the device service', async () => {
    const { body } = await requestToken(tier, users.web, { grant_type: 'client_credentials' });
    const reply = await fetch(`${tier.gatewayUrl}/api/device`, {
      headers: { authorization: `Bearer ${body.access_token}` },
    });
    const requestId = reply.headers.get('x-request-id') ?? '';
    // Only nginx creates ids in this form.
    expect(requestId).toMatch(/^[0-9a-f]{32}$/);
    await until(async () => (await appsThatLogged(requestId)).length > 1);
    expect(await appsThatLogged(requestId)).toEqual(['device-service', 'gateway']);
  });

  test('follows a request from nginx to the authorization server and the audit trail', async () => {
    const reply = await fetch(`${tier.authorizationServerUrl}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('web:wrong')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const requestId = reply.headers.get('x-request-id') ?? '';
    expect(requestId).toMatch(/^[0-9a-f]{32}$/);
    await until(async () => (await appsThatLogged(requestId)).length > 0);
    expect(await appsThatLogged(requestId)).toContain('authorization-server');
    expect(JSON.stringify(await tier.gatehouse('audit', 'list'))).toContain(requestId);
  });
});

describe('the address of the caller', () => {
  test('is the address that nginx sees, whatever the caller claims', async () => {
    await requestToken(
      tier,
      { ...users.web, secureKey: 'wrong' },
      { grant_type: 'client_credentials' },
    );
    await fetch(`${tier.authorizationServerUrl}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa('web:wrong')}`,
        'x-forwarded-for': '203.0.113.66',
      },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const audit = JSON.stringify(await tier.gatehouse('audit', 'list'));
    expect(audit).toContain('client_authentication_failed');
    expect(audit).not.toContain('203.0.113.66');
    expect(audit).not.toContain('127.0.0.1');
    expect(audit).toMatch(/"(?:172|192\.168|10)\.[\d.]+"/);
  });
});

describe('down and up', () => {
  test('keep tokens, devices, users, keys and the audit trail', async () => {
    const token = await requestToken(tier, users.web, { grant_type: 'password', ...users.alice });
    const keys = await (await fetch(`${tier.authorizationServerUrl}/jwks`)).json();
    await tier.compose('down');
    expect(await tier.containers()).toEqual([]);
    await tier.up();
    expect(await listWith(token.body.access_token)).toMatchObject(devices);
    expect(await (await fetch(`${tier.authorizationServerUrl}/jwks`)).json()).toEqual(keys);
    const refreshed = await requestToken(tier, users.web, {
      grant_type: 'refresh_token',
      refresh_token: token.body.refresh_token ?? '',
    });
    expect(refreshed.status).toBe(200);
    expect(
      await requestToken(tier, users.web, { grant_type: 'password', ...users.alice }),
    ).toMatchObject({ status: 200 });
    const changed = await tier.gatehouse('audit', 'list');
    expect(JSON.stringify(changed)).toContain('client_changed');
  }, 180_000);
});
