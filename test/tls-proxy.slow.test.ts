// requires: nginx caddy openssl

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  authorizeAsUser,
  basic,
  type Constellation,
  createLocalTlsFetch,
  createPageVisitor,
  freePort,
  makeCertificate,
  openLocalTls,
  startConstellation,
} from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { NGINX_ADDRESS, type RunningProxy, startCaddy, startNginx } from './tls-proxies.ts';

const secureKey = randomBytes(16).toString('hex');
const alice = { username: 'alice', password: randomBytes(12).toString('base64url') };
const redirectUri = 'https://app.example/callback';
/** The only address from which the client `here` may call. */
const CALLER = '127.0.0.3';
const STRANGER = '127.0.0.4';

const client = {
  name: 'Application',
  orgId: 'org-1',
  secureKey,
  redirectUris: [redirectUri],
  grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
  scopes: ['device:read', 'device:write', 'openid'],
};
const bootstrap = {
  organizations: [{ id: 'org-1', name: 'One' }],
  clients: [
    { ...client, clientId: 'app' },
    { ...client, clientId: 'here', ipAllowList: [CALLER] },
  ],
  users: [{ ...alice, name: 'Alice', orgId: 'org-1' }],
};

describe.each([
  ['nginx', startNginx, NGINX_ADDRESS],
  ['Caddy', startCaddy, '127.0.0.1'],
] as const)('the example of %s in docs/operations/deploy.md', (name, startProxy, proxyAddress) => {
  const directory = temporaryFolder();
  const certificate = makeCertificate(directory, ['auth.example', 'gateway.example']);
  const { authority } = certificate;
  const send = createLocalTlsFetch({ authority });
  let events: Server;
  let system: Constellation;
  let proxy: RunningProxy;
  let issuer: string;
  let gateway: string;

  beforeAll(async () => {
    events = createServer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('data: 1\n\n');
      const timer = setTimeout(() => response.end('data: 2\n\n'), 2000);
      response.once('close', () => clearTimeout(timer));
    }).listen(0, '127.0.0.1');
    await once(events, 'listening');
    const routes = join(directory, 'routes.json');
    const eventsUrl = `http://127.0.0.1:${(events.address() as AddressInfo).port}`;
    const route = { operation: 'events', method: 'GET', path: '/events', scope: 'device:read' };
    writeFileSync(
      routes,
      JSON.stringify({
        upstreams: { events: { url: eventsUrl } },
        routes: [{ ...route, upstream: 'events', credentials: ['bearer'], streaming: true }],
      }),
    );
    const port = await freePort();
    issuer = `https://auth.example:${port}`;
    gateway = `https://gateway.example:${port}`;
    system = await startConstellation({
      engine: 'sqlite',
      bootstrap,
      environment: {
        AUTHORIZATION_SERVER_URL: issuer,
        GATEWAY_URL: gateway,
        TRUSTED_PROXIES: proxyAddress,
        ROUTES_FILE: routes,
      },
    });
    const logs = join(directory, 'proxy');
    mkdirSync(logs);
    proxy = await startProxy({
      directory: logs,
      port,
      certificate,
      authorizationServerPort: new URL(system.authorizationServerUrl).port,
      gatewayPort: new URL(system.gatewayUrl).port,
    });
  });
  afterAll(async () => {
    await proxy?.stop();
    await system?.stop();
    events.closeAllConnections();
    events.close();
  });

  async function issueToken(): Promise<string> {
    const reply = await send(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization: basic('app', secureKey) },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token: token } = (await reply.json()) as { access_token: string };
    return token;
  }

  function sign(clientId: string, text = '') {
    const timestamp = String(Date.now());
    const digest = createHash('sha256').update(text + timestamp + secureKey);
    return { 'X-Client-Id': clientId, 'X-Timestamp': timestamp, 'X-Sign': digest.digest('hex') };
  }

  test('signs a user in, with cookies that are Secure and bound to the host', async () => {
    const visitor = createPageVisitor(send);
    const query = { response_type: 'code', client_id: 'app', redirect_uri: redirectUri };
    const landed = await authorizeAsUser(
      `${issuer}/authorize?${new URLSearchParams({ ...query, scope: 'openid device:read' })}`,
      alice,
      visitor,
    );
    const names = [...visitor.cookies.keys()].map((key) => key.split('|')[0]);
    expect(names.some((each) => each?.startsWith('__Host-'))).toBe(true);
    expect(names.filter((each) => !/^__(Host|Secure)-/.test(each ?? ''))).toEqual([]);
    expect(landed.searchParams.get('iss')).toBe(issuer);
    const redeemed = await send(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization: basic('app', secureKey) },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: landed.searchParams.get('code') ?? '',
        redirect_uri: redirectUri,
      }),
    });
    expect(redeemed.status).toBe(200);
  });

  test('uses its public address, whatever Host and forwarding headers contain', async () => {
    const reply = await send(`${issuer}/.well-known/openid-configuration`, {
      headers: { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'http' },
    });
    expect(await reply.json()).toMatchObject({ issuer, token_endpoint: `${issuer}/token` });
  });

  test('forwards bearer, query and signed requests unchanged', async () => {
    const token = await issueToken();
    const bearer = await send(`${gateway}/api/device`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const query = await send(`${gateway}/api/device?access_token=${token}`);
    const text = 'where=name like %a/b%&x=é';
    const signedQuery = await send(`${gateway}/api/device?where=name+like+%25a%2Fb%25&x=%c3%A9`, {
      headers: sign('app', text),
    });
    const body = `{"id":"through-${name}","name":"A","productId":"p","productName":"P"}`;
    const signedBody = await send(`${gateway}/device-instance`, {
      method: 'POST',
      headers: { ...sign('app', body), 'content-type': 'application/json' },
      body,
    });
    const statuses = [bearer, query, signedQuery, signedBody].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 200, 200]);
    const reply = await signedBody.text();
    const expected = createHash('sha256')
      .update(reply + signedBody.headers.get('x-timestamp') + secureKey)
      .digest('hex');
    expect(signedBody.headers.get('x-sign')).toBe(expected);
  });

  test.each(['/_verify', '/_verify/api/device', '/_verify?scope=device:read'])(
    'lets no caller ask for a verification at %s',
    async (path) => {
      const headers = { authorization: `Bearer ${await issueToken()}` };
      const reply = await send(`${gateway}${path}`, { headers });
      expect([reply.status, reply.headers.has('x-request-id')]).toEqual([404, false]);
    },
  );

  test('lets a batch of several megabytes through', async () => {
    const name = 'x'.repeat(1500);
    const devices = Array.from({ length: 2000 }, (_, id) => ({ id: `batch-${id}`, name }));
    const reply = await send(`${gateway}/api/v1/device`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await issueToken()}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(devices),
    });
    // The device service sends the reply, including the error.
    expect(reply.headers.get('content-type')).toContain('application/json');
    expect([200, 400]).toContain(reply.status);
  });

  test('forwards events as they arrive', async () => {
    const reply = await openLocalTls(
      `${gateway}/events`,
      { authorization: `Bearer ${await issueToken()}` },
      { authority },
    );
    const [first] = (await once(reply, 'data')) as [Buffer];
    expect(first.toString()).toBe('data: 1\n\n');
    reply.resume();
    await once(reply, 'end');
  });

  test('lets the servers see the address of the caller, which a caller cannot forge', async () => {
    const forged = {
      'X-Forwarded-For': CALLER,
      Forwarded: `for=${CALLER}`,
      'X-Real-IP': CALLER,
    };
    const call = async (from: string, headers: Record<string, string> = {}) => {
      const sender = createLocalTlsFetch({ authority, from });
      const init = { headers: { ...sign('here', ''), ...headers } };
      return (await sender(`${gateway}/api/device`, init)).status;
    };
    expect(await call(CALLER)).toBe(200);
    expect(await call(STRANGER)).toBe(403);
    expect(await call(STRANGER, forged)).toBe(403);
    expect(await call(CALLER, { 'X-Forwarded-For': STRANGER })).toBe(200);
  });

  if (proxyAddress !== '127.0.0.1') {
  }

  test('leaves no secret in its log, even if a server is down', async () => {
    const token = await issueToken();
    expect((await send(`${gateway}/api/device?access_token=${token}`)).status).toBe(200);
    await system.processes[1]?.stop();
    expect((await send(`${gateway}/api/device?access_token=${token}`)).status).toBe(502);
    const headers = { 'X-Access-Token': token };
    expect((await send(`${gateway}/api/device`, { headers })).status).toBe(502);
    expect(proxy.logged()).not.toContain(token);
    expect(proxy.logged()).not.toMatch(/access_token|[?&]code=/);
  });
});
