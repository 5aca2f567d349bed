// requires: chromium nginx caddy openssl
/** A user in a real browser signs in to an application behind a real proxy with our example. */

import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { createLocalTlsFetch, freePort, makeCertificate, until } from '@gatehouse/testing';
import { launchBrowser } from '@gatehouse/testing/browser';
import { listenForTests, startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { BrowserContext, Page } from 'playwright-core';
import { alice, installation } from '../apps/authorization-server/test/installation.ts';
import { type RunningProxy, startTlsCaddy, startTlsNginx } from './proxies.ts';
import { root } from './source-tree.ts';

// Browsers resolve it to this machine. It is no loopback host for Gatehouse, so it needs TLS.
const NAME = 'reports.localhost';

const proxies = [
  { name: 'nginx', file: 'nginx.conf', start: startTlsNginx, port: await freePort() },
  { name: 'Caddy', file: 'Caddyfile', start: startTlsCaddy, port: await freePort() },
];

const system = await startSystem({
  engine: 'sqlite',
  apps: ['authorization-server', 'gateway'],
  bootstrap: {
    ...installation,
    resources: proxies.map(({ name, port }) => ({
      ...{ resource: `https://${NAME}:${port}`, name },
      scopes: { [`${name}:read`]: { description: 'Read reports' } },
    })),
    browserHosts: proxies.map(({ name, port }) => ({ host: `${NAME}:${port}`, name })),
    users: installation.users.map((user) =>
      user.username === alice.username ? { ...user, roles: ['support'] } : user,
    ),
  },
  environment: { FORWARD_AUTH: 'true', TRUSTED_PROXIES: '127.0.0.1' },
});
const browser = await launchBrowser();
afterAll(() => browser.close());

interface Call {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** The application, which sets a cookie of its own. It also serves a page of another site. */
const calls: Call[] = [];
const service = createServer(({ method, url, headers }, response) => {
  calls.push({ method, url, headers });
  response.setHeader('Content-Type', 'text/html').setHeader('Set-Cookie', 'theme=dark; Path=/');
  response.end(`<!doctype html><link rel="icon" href="data:,"><h1>Report for ${headers['x-auth-user']}</h1>
<a href="/_gatehouse/sign-out">Sign out</a>`);
});
const servicePort = await listenForTests(service);

async function enterPassword(page: Page): Promise<void> {
  await page.getByLabel('Username').fill(alice.username);
  await page.getByLabel('Password').fill(alice.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

const heading = (page: Page, name: string) =>
  page.getByRole('heading', { name, level: 1 }).waitFor();

describe.each(proxies)('the example of $name', ({ name, file, start, port }) => {
  const directory = temporaryFolder();
  const certificate = makeCertificate(directory, [NAME]);
  const origin = `https://${NAME}:${port}`;
  const address = `${origin}/reports/7?a=1&b=x%20y`;
  let proxy: RunningProxy;

  beforeAll(async () => {
    const example = readFileSync(join(root, 'deploy/forward-auth', file), 'utf8')
      .replaceAll('#browser ', '')
      .replaceAll('scope=device:read', `scope=${name}:read`)
      .replaceAll(/browser=reports\.example|^reports\.example(?= \{$)/gm, (text) =>
        text.replace('reports.example', `${NAME}:${port}`),
      )
      .replaceAll('server_name reports.example', `server_name ${NAME}`)
      .replaceAll(
        '127.0.0.1:8844',
        new URL(system.gatewayUrl).host.replace('localhost', '127.0.0.1'),
      )
      .replaceAll('127.0.0.1:8870', `127.0.0.1:${servicePort}`);
    proxy = await start({ directory, port, certificate, example });
  });
  afterAll(() => proxy?.stop());
  beforeEach(() => {
    calls.length = 0;
  });

  const newContext = () => browser.newContext({ ignoreHTTPSErrors: true });

  async function openSignedIn(context?: BrowserContext) {
    const opened = context ?? (await newContext());
    const page = await opened.newPage();
    await page.goto(address);
    await heading(page, 'Sign in');
    await enterPassword(page);
    await heading(page, `Report for ${alice.username}`);
    return { context: opened, page };
  }

  /** What a script of the page gets. */
  const fetchIn = (page: Page, path: string, init: object = {}) =>
    page.evaluate(([url, options]) => fetch(url, options).then(({ status }) => status), [
      path,
      init,
    ] as const);

  test('signs in and returns to the page, with a cookie that only the gateway receives', async () => {
    const { context, page } = await openSignedIn();
    expect(page.url()).toBe(address);
    expect(await fetchIn(page, '/data')).toBe(200);
    expect(await fetchIn(page, '/data', { method: 'POST', body: 'x' })).toBe(200);
    expect(calls.map(({ method, url }) => `${method} ${url}`)).toEqual([
      ...['GET /reports/7?a=1&b=x%20y', 'GET /data', 'POST /data'],
    ]);
    expect(calls.map(({ headers }) => headers.cookie)).toEqual([
      ...['gatehouse=removed', 'theme=dark', 'theme=dark'],
    ]);
    const { headers } = calls[2] as Call;
    expect(headers).toMatchObject({
      'x-auth-user': alice.username,
      'x-auth-roles': 'support',
      'x-auth-scope': `${name}:read`,
    });
    expect(headers['x-auth-email'] ?? '').toBe('');
    expect(decodeJwt(headers.authorization?.slice('Bearer '.length) ?? '')).toMatchObject({
      ...{ aud: 'reports', preferred_username: alice.username, roles: ['support'] },
    });
    expect(await page.evaluate('document.cookie')).toBe('theme=dark');
    const cookies = (await context.cookies(origin)).filter(({ name: own }) => own !== 'theme');
    expect(cookies.map(({ name: own }) => own).sort()).toEqual([
      ...['__Host-gatehouse', '__Host-gatehouse-sign-in'],
    ]);
    for (const cookie of cookies) {
      expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Lax', domain: NAME });
    }
    expect(proxy.logged()).not.toContain(cookies[0]?.value);
    await context.close();
  });

  test('lets no caller choose what the service learns about the user', async () => {
    const { context, page } = await openSignedIn();
    const forged = {
      'X-Auth-User': 'admin',
      'X-Auth-Email': 'a@b.example',
      'X-Auth-Roles': 'admin',
    };
    expect(await fetchIn(page, '/data', { headers: forged })).toBe(200);
    const { headers } = calls.at(-1) as Call;
    expect([headers['x-auth-user'], headers['x-auth-roles']]).toEqual([alice.username, 'support']);
    expect(headers['x-auth-email'] ?? '').toBe('');
    await context.close();
  });

  test('ends in all tabs with the sign-out, which the application links', async () => {
    const { context, page } = await openSignedIn();
    const other = await context.newPage();
    await other.goto(`${origin}/other`);
    await page.getByRole('link', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading(page, 'Sign in');
    expect(await fetchIn(other, '/data')).toBe(401);
    calls.length = 0;
    await other.goto(`${origin}/other`);
    await heading(other, 'Sign in');
    expect(calls).toEqual([]);
    await context.close();
  });

  test('ends with a sign-out elsewhere, and with the revocation at the account page', async () => {
    const { context, page } = await openSignedIn();
    const account = await context.newPage();
    await account.goto(`${system.authorizationServerUrl}/account`);
    const listed = account.getByRole('listitem').filter({ hasText: name });
    await listed.getByRole('button').click();
    await until(async () => (await fetchIn(page, '/data')) === 401);
    // The browser is still signed in at the authorization server.
    await page.goto(address);
    await heading(page, `Report for ${alice.username}`);
    await account.goto(`${system.authorizationServerUrl}/logout`);
    await account.getByRole('button', { name: 'Sign out' }).click();
    await heading(account, 'You are signed out');
    await until(async () => (await fetchIn(page, '/data')) === 401);
    await context.close();
  });

  test('CWE-352 another site can cause no change and open no WebSocket', async () => {
    const { context } = await openSignedIn();
    const evil = await context.newPage();
    await evil.goto(`http://127.0.0.1:${servicePort}/`);
    calls.length = 0;
    await evil.evaluate((target) => {
      new WebSocket(target.replace('https:', 'wss:'));
      return fetch(target, { method: 'POST', mode: 'no-cors', credentials: 'include', body: 'x' });
    }, `${origin}/data`);
    const reply = evil.waitForResponse(`${origin}/data`);
    await evil.setContent(
      `<form method="post" action="${origin}/data"><button>Win a prize</button></form>`,
    );
    await evil.getByRole('button').click();
    expect([401, 403]).toContain((await reply).status());
    // The browser itself may request the icon of the host.
    expect(calls.filter(({ url }) => url === '/data')).toEqual([]);
    await context.close();
  });

  test('tells a client without a credential where the metadata of the service is', async () => {
    const call = createLocalTlsFetch(certificate.authority);
    const { status, headers } = await call(`${origin}/data`, { method: 'POST' });
    const metadata = `${origin}/.well-known/oauth-protected-resource`;
    expect([status, headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining(`resource_metadata="${metadata}"`),
    ]);
    expect(await (await call(metadata)).json()).toMatchObject({
      resource: origin,
      authorization_servers: [system.authorizationServerUrl],
      scopes_supported: [`${name}:read`],
    });
    expect((await call(`${metadata}/../../_verify`)).status).not.toBe(200);
    expect(calls).toEqual([]);
  });
});
