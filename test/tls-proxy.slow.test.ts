// requires: nginx caddy openssl

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import {
  authorizeAsUser,
  basic,
  type Constellation,
  createLocalTlsFetch,
  createPageVisitor,
  freePort,
  listen,
  makeCertificate,
  signatureHeaders,
  startConstellation,
} from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readDocument } from './documents.ts';
import { type RunningProxy, startTlsCaddy, startTlsNginx, type TlsPlace } from './proxies.ts';

/** nginx connects from this address, so that others of this machine are not trusted proxies. */
const NGINX_ADDRESS = '127.0.0.2';

const startNginx = (place: TlsPlace) =>
  startTlsNginx({ ...place, example: `proxy_bind ${NGINX_ADDRESS};\n${place.example}` });

const { text: guide } = readDocument('docs/operations/deploy.md');
const exampleOf = (name: string, system: Constellation) =>
  (new RegExp(`\`\`\`${name.toLowerCase()}\\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? '')
    .replaceAll('127.0.0.1:9000', new URL(system.authorizationServerUrl).host)
    .replaceAll('127.0.0.1:8844', new URL(system.gatewayUrl).host);

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
  ['Caddy', startTlsCaddy, '127.0.0.1'],
] as const)('the example of %s in docs/operations/deploy.md', (name, start, proxyAddress) => {
  const directory = temporaryFolder();
  const certificate = makeCertificate(directory, ['auth.example', 'gateway.example']);
  const { authority } = certificate;
  const send = createLocalTlsFetch(authority);
  let events: Server;
  let finishEvents = () => {};
  let system: Constellation;
  let proxy: RunningProxy;
  let issuer: string;
  let gateway: string;

  beforeAll(async () => {
    events = createServer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('data: 1\n\n');
      finishEvents = () => response.end('data: 2\n\n');
    });
    const routes = join(directory, 'routes.json');
    const eventsUrl = `http://127.0.0.1:${await listen(events)}`;
    const route = { operation: 'events', method: 'GET', path: '/events', scope: 'device:read' };
    const streamed = { ...route, upstream: 'events', credentials: ['bearer'], streaming: true };
    const upstreams = { events: { url: eventsUrl } };
    writeFileSync(routes, JSON.stringify({ upstreams, routes: [streamed] }));
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
    proxy = await start({ directory, port, certificate, example: exampleOf(name, system) });
  });
  afterAll(async () => {
    await proxy?.stop();
    await system?.stop();
    events.closeAllConnections();
    events.close();
  });

  async function redeem(form: Record<string, string>): Promise<string> {
    const headers = { authorization: basic('app', secureKey) };
    const body = new URLSearchParams(form);
    const reply = await send(`${issuer}/token`, { method: 'POST', headers, body });
    const { access_token: token } = (await reply.json()) as { access_token: string };
    return token;
  }
  const issueToken = () => redeem({ grant_type: 'client_credentials' });
  const bearer = async () => ({ authorization: `Bearer ${await issueToken()}` });
  const sign = (clientId: string, text = '') => signatureHeaders({ clientId, secureKey }, text);

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
    const code = landed.searchParams.get('code') ?? '';
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    expect(await redeem(form)).toMatch(/^[\w-]{43}$/);
  });

  test('uses its public address, whatever Host and forwarding headers contain', async () => {
    const reply = await send(`${issuer}/.well-known/openid-configuration`, {
      headers: { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'http' },
    });
    expect(await reply.json()).toMatchObject({ issuer, token_endpoint: `${issuer}/token` });
  });

  test('forwards bearer, query and signed requests unchanged', async () => {
    const token = await issueToken();
    const header = await send(`${gateway}/api/device`, { headers: await bearer() });
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
    const statuses = [header, query, signedQuery, signedBody].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 200, 200]);
    const timestamp = signedBody.headers.get('x-timestamp') ?? '';
    const app = { clientId: 'app', secureKey };
    const expected = signatureHeaders(app, await signedBody.text(), timestamp)['X-Sign'];
    expect(signedBody.headers.get('x-sign')).toBe(expected);
  });

  test.each(['/_verify', '/_verify/api/device', '/_verify?scope=device:read'])(
    'lets no caller ask for a verification at %s',
    async (path) => {
      const reply = await send(`${gateway}${path}`, { headers: await bearer() });
      expect([reply.status, reply.headers.has('x-request-id')]).toEqual([404, false]);
    },
  );

  test('lets a batch of several megabytes through', async () => {
    const name = 'x'.repeat(1500);
    const devices = Array.from({ length: 2000 }, (_, id) => ({ id: `batch-${id}`, name }));
    const reply = await send(`${gateway}/api/v1/device`, {
      method: 'POST',
      headers: { ...(await bearer()), 'content-type': 'application/json' },
      body: JSON.stringify(devices),
    });
    // The device service sends the reply, including the error.
    expect(reply.headers.get('content-type')).toContain('application/json');
    expect([200, 400]).toContain(reply.status);
  });

  test('forwards events as they arrive', async () => {
    const { body } = await send(`${gateway}/events`, { headers: await bearer() });
    const chunks: string[] = [];
    for await (const chunk of body ?? []) {
      chunks.push(Buffer.from(chunk).toString());
      finishEvents();
    }
    expect(chunks).toEqual(['data: 1\n\n', 'data: 2\n\n']);
  });

  test('lets the servers see the address of the caller, which a caller cannot forge', async () => {
    const forwarded = `for=${CALLER}`;
    const forged = { 'X-Forwarded-For': CALLER, Forwarded: forwarded, 'X-Real-IP': CALLER };
    const call = async (from: string, headers: Record<string, string> = {}) => {
      const sender = createLocalTlsFetch(authority, from);
      const init = { headers: { ...sign('here', ''), ...headers } };
      return (await sender(`${gateway}/api/device`, init)).status;
    };
    expect(await call(CALLER)).toBe(200);
    expect(await call(STRANGER)).toBe(403);
    expect(await call(STRANGER, forged)).toBe(403);
    expect(await call(CALLER, { 'X-Forwarded-For': STRANGER })).toBe(200);
  });

  test('leaves no secret in its log, even if a server is down', async () => {
    const token = await issueToken();
    expect((await send(`${gateway}/api/device?access_token=${token}`)).status).toBe(200);
    await system.member('gateway').process.stop();
    expect((await send(`${gateway}/api/device?access_token=${token}`)).status).toBe(502);
    const headers = { 'X-Access-Token': token };
    expect((await send(`${gateway}/api/device`, { headers })).status).toBe(502);
    expect(proxy.logged()).not.toContain(token);
    expect(proxy.logged()).not.toMatch(/access_token|[?&]code=/);
  });
});
