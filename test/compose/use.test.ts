/** A tier of containers, used through its published ports. */
import { authorizeAsUser, createPageVisitor, until } from '@gatehouse/testing';
import { launchBrowser } from '@gatehouse/testing/browser';
import { describe, expect, jest, test } from '@jest/globals';
import { callGateway, redirectUri, sign, startTierInUse } from './clients.ts';

jest.setTimeout(180_000);

const { tier, users, token, post, newToken, signIn, refresh, listWith } = await startTierInUse();
const { web, alice } = users;
const devices = {
  status: 200,
  body: { code: 'success', result: [{ id: 'pump-1', orgId: 'acme' }] },
};

function authorizationUrl(parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams({ redirect_uri: redirectUri, state: 'xyz', ...parameters });
  return `${tier.authorizationServerUrl}/authorize?${query}`;
}

describe('every grant, through the published ports', () => {
  test('client_credentials', async () => {
    expect(await listWith(await newToken())).toMatchObject(devices);
  });

  test('password, and refresh_token', async () => {
    const { status, body } = await refresh((await signIn()).body.refresh_token);
    expect(status).toBe(200);
    expect(await listWith(body.access_token)).toMatchObject(devices);
  });

  test('authorization_code, by a user in a browser', async () => {
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.route(`${redirectUri}*`, (route) => route.fulfill({ body: 'landed' }));
      await page.goto(authorizationUrl({ response_type: 'code', client_id: web.clientId }));
      await page.getByLabel('Username').fill(alice.username);
      await page.getByLabel('Password').fill(alice.password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.waitForURL(`${redirectUri}*`);
      const { searchParams } = new URL(page.url());
      expect(searchParams.get('state')).toBe('xyz');
      const code = searchParams.get('code') ?? '';
      const redemption = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
      const { status, body } = await token(redemption);
      expect(status).toBe(200);
      expect(await listWith(body.access_token)).toMatchObject(devices);
    } finally {
      await browser.close();
    }
  });

  test('implicit', async () => {
    const url = authorizationUrl({ response_type: 'token', client_id: users.implicit.clientId });
    const answer = new URLSearchParams((await authorizeAsUser(url, alice)).hash.slice(1));
    expect(answer.get('state')).toBe('xyz');
    expect(await listWith(answer.get('access_token') ?? '')).toMatchObject(devices);
  });

  test('device_code', async () => {
    const reply = await post('/device/auth', { client_id: web.clientId });
    const {
      device_code = '',
      user_code = '',
      verification_uri = '',
    } = (await reply.json()) as {
      readonly [name: string]: string;
    };
    const visitor = createPageVisitor();
    const form = await visitor.get(verification_uri);
    const question = await visitor.submit(form, { user_code });
    let page = await visitor.submit(question, { confirm: 'yes' });
    for (let step = 0; step < 12 && !page.body.includes('is connected'); step += 1) {
      page =
        page.location === undefined
          ? await visitor.submit(page, alice)
          : await visitor.get(page.location);
    }
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const { status, body } = await token({ grant_type, device_code });
    expect([status, body.error]).toEqual([200, undefined]);
    expect(await listWith(body.access_token)).toMatchObject(devices);
  });
});

describe('every way to authenticate at the gateway', () => {
  test('a signed request, with a signed reply', async () => {
    const query = 'pageIndex=0&pageSize=5';
    const headers = sign(web, query);
    const reply = await fetch(`${tier.gatewayUrl}/api/device?${query}`, { headers });
    expect(await reply.json()).toMatchObject(devices.body);
    expect(reply.headers.get('x-sign')).toMatch(/^[0-9a-f]{64}$/);
  });

  test('an X-Access-Token from a signed request', async () => {
    const body = JSON.stringify({ expires: 600 });
    const signed = { ...sign(web, body), 'content-type': 'application/json' };
    const issued = await callGateway(tier, '/api/v1/token', {
      method: 'POST',
      headers: signed,
      body,
    });
    const headers = { 'x-access-token': String(issued.body.result) };
    expect(await callGateway(tier, '/api/device', { headers })).toMatchObject(devices);
  });

  test('an access token in the query', async () => {
    const path = `/api/device?access_token=${await newToken()}`;
    expect(await callGateway(tier, path)).toMatchObject(devices);
  });

  test('no request without a credential', async () => {
    expect(await callGateway(tier, '/api/device')).toMatchObject({ status: 401 });
    expect(await listWith('x'.repeat(43))).toMatchObject({ status: 401 });
    const headers = { ...sign(web, 'a=1'), 'x-forwarded-for': '127.0.0.1' };
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

const audit = async () => JSON.stringify(await tier.gatehouse('audit', 'list'));

test('one request id follows a request from nginx to every app and the audit trail', async () => {
  const expectLogged = async ({ headers }: Response, apps: readonly string[]) => {
    const requestId = headers.get('x-request-id') ?? '';
    // Only nginx creates ids in this form.
    expect(requestId).toMatch(/^[0-9a-f]{32}$/);
    await until(async () => {
      const log = await tier.compose('logs', '--no-color', '--no-log-prefix');
      const lines = log.split('\n').filter((line) => line.includes(`"requestId":"${requestId}"`));
      const named = lines.map((line) => /"app":"([\w-]+)"/.exec(line)?.[1] ?? '');
      expect([...new Set(named)].sort()).toEqual(apps);
    });
    return requestId;
  };
  const headers = { authorization: `Bearer ${await newToken()}` };
  const listed = await fetch(`${tier.gatewayUrl}/api/device`, { headers });
  await expectLogged(listed, ['device-service', 'gateway']);
  const failed = await fetch(`${tier.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('web:wrong')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const requestId = await expectLogged(failed, ['authorization-server']);
  expect(await audit()).toContain(requestId);
});

test('the address of the caller is the one that nginx sees, whatever the caller claims', async () => {
  await fetch(`${tier.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('web:wrong')}`, 'x-forwarded-for': '203.0.113.66' },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const entries = await audit();
  expect(entries).toContain('client_authentication_failed');
  expect(entries).not.toMatch(/203\.0\.113\.66|127\.0\.0\.1/);
  expect(entries).toMatch(/"(?:172|192\.168|10)\.[\d.]+"/);
});

test('down and up keep tokens, devices, users, keys and the audit trail', async () => {
  const tokens = (await signIn()).body;
  const keys = async () => (await fetch(`${tier.authorizationServerUrl}/jwks`)).json();
  const before = await keys();
  await tier.compose('down');
  expect(await tier.containers()).toEqual([]);
  await tier.up();
  expect(await listWith(tokens.access_token)).toMatchObject(devices);
  expect(await keys()).toEqual(before);
  expect((await refresh(tokens.refresh_token)).status).toBe(200);
  expect((await signIn()).status).toBe(200);
  expect(await audit()).toContain('client_changed');
});
