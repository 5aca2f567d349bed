// requires: nginx caddy haproxy redis-server
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, type RedisServer, startRedisServer, until } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { type BootedGateway, publicUrl } from '../apps/gateway/test/booted-gateway.ts';
import { aliasesOfSubject, forgedHeaders } from '../apps/gateway/test/forged-headers.ts';
import { type Sent, send } from '../apps/gateway/test/http-client.ts';
import {
  type RecordingUpstream,
  startRecordingUpstream,
} from '../apps/gateway/test/recording-upstream.ts';
import { bearer, bootForwardAuth } from '../apps/gateway/test/verification-calls.ts';
import { type RunningProxy, startProxy, writeConfiguration, writeNginx } from './proxies.ts';
import { root } from './source-tree.ts';

const URI = '/reports/7?a=1&b=x%20y';
const ADDRESS_LIMIT = 40;
const webSocketKey = {
  'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
  'Sec-WebSocket-Version': '13',
};

interface Place {
  readonly directory: string;
  /** The proxy listens here without TLS. */
  readonly port: number;
  /** Reads an example, with the ports of the gateway and of the service. */
  readonly example: (name: string) => string;
}

const startNginx = (place: Place) => runNginx(place, place.example('nginx.conf'));

/** With a second server, writes.example, which shares the cache and requires another scope. */
function startCachingNginx(place: Place) {
  const example = place.example('nginx.conf').replaceAll('#cache ', '');
  const second = example
    .slice(example.indexOf('\nserver {'))
    .replace('server_name reports.example;', 'server_name writes.example;')
    .replace('scope=device:read&audience=reports', 'scope=device:write&audience=writes');
  return runNginx(place, `${example}${second}`);
}

function runNginx({ directory, port }: Place, example: string): Promise<RunningProxy> {
  const adapted = example
    .replaceAll('listen 443 ssl http2;', `listen 127.0.0.1:${port};`)
    .replaceAll(/ssl_certificate.*;/g, '')
    .replaceAll('/run/nginx-verifications', `${directory}/verifications`);
  return startProxy(writeNginx(directory, adapted), port);
}

function startCaddy({ directory, port, example }: Place) {
  const adapted = example('Caddyfile')
    .replace(/^\{$/m, '{\n\tadmin off\n\tauto_https off')
    .replace('reports.example {', `http://127.0.0.1:${port} {`);
  const file = writeConfiguration(directory, 'Caddyfile', adapted);
  return startProxy(['caddy', 'run', '--adapter', 'caddyfile', '--config', file], port);
}

function startHaproxy({ directory, port, example }: Place) {
  const script = writeConfiguration(directory, 'verify.lua', example('verify.lua'));
  const adapted = example('haproxy.cfg')
    .replace(/bind :443 .*/, `bind 127.0.0.1:${port}`)
    .replace('/etc/haproxy/verify.lua', script);
  return startProxy(['haproxy', '-f', writeConfiguration(directory, 'haproxy.cfg', adapted)], port);
}

describe.each([
  ['nginx', startNginx],
  ['nginx with a cache', startCachingNginx],
  ['Caddy', startCaddy],
  ['HAProxy', startHaproxy],
] as const)('the example of %s in deploy/forward-auth', (name, start) => {
  const directory = temporaryFolder();
  let redis: RedisServer;
  let gateway: BootedGateway;
  let service: RecordingUpstream;
  let proxy: RunningProxy;
  let port: number;
  let isGatewayClosed = false;

  beforeAll(async () => {
    redis = await startRedisServer();
    gateway = await bootForwardAuth({
      storeUrl: redis.url,
      addressRateLimit: { requests: ADDRESS_LIMIT, windowSeconds: 600 },
    });
    service = await startRecordingUpstream();
    port = await freePort();
    const example = (file: string) =>
      readFileSync(join(root, 'deploy/forward-auth', file), 'utf8')
        .replaceAll('127.0.0.1:8844', `127.0.0.1:${gateway.port}`)
        .replaceAll('127.0.0.1:8870', new URL(service.url).host);
    proxy = await start({ directory, port, example });
  });
  afterAll(async () => {
    await proxy?.stop();
    if (!isGatewayClosed) {
      await gateway?.close();
    }
    await service?.close();
    await redis?.stop();
  });
  beforeEach(() => {
    service.requests.length = 0;
  });

  const call = (headers: Sent['headers'], uri = URI, options: Sent = {}) =>
    send(port, uri, { ...options, isProxied: true, ...(headers && { headers }) });

  async function expectRefused(
    reply: Awaited<ReturnType<typeof call>>,
    status: number,
    code: string,
  ) {
    expect([reply.status, reply.json?.code]).toEqual([status, code]);
    expect(reply.headers['x-request-id']).toMatch(/^[A-Za-z0-9._-]{8,64}$/);
    expect(service.requests).toEqual([]);
  }
  const identity = {
    'x-auth-client-id': 'demo',
    'x-auth-subject': 'demo',
    'x-auth-organization': 'org-1',
  };

  test('forwards a request with the identity of its caller, and without its credential', async () => {
    const token = await gateway.issueToken();
    const body = 'x'.repeat(300_000);
    const reply = await call({ ...bearer(token), 'X-Request-Id': 'request-1' }, URI, {
      method: 'PUT',
      body,
    });
    expect(reply.status).toBe(200);
    const { method, url, headers, body: received } = service.last();
    expect([method, url, received.toString() === body]).toEqual(['PUT', URI, true]);
    expect(headers).toMatchObject({
      ...identity,
      'x-auth-scope': 'device:read device:write',
      'x-request-id': 'request-1',
    });
    const internal = headers.authorization?.replace(/^Bearer /, '') ?? '';
    const keys = createLocalJWKSet({ keys: [...(await gateway.gateway.jwks()).keys] });
    const { payload } = await jwtVerify(internal, keys, { issuer: publicUrl, audience: 'reports' });
    expect(payload.client_id).toBe('demo');
    expect(JSON.stringify(headers)).not.toContain(token);
  });

  test('CVE-2026-40575 replaces every header with which a caller could name a request or an identity', async () => {
    const forged = {
      'X-Auth-Client-Id': 'admin',
      'X-Auth-Subject': 'admin',
      'X-Auth-Organization': 'org-2',
      'X-Auth-Scope': 'device:write',
      'X-Original-Method': 'DELETE',
      'X-Original-URI': '/public',
      'X-Original-Uri-Extra': 'x',
      'X-Forwarded-Method': 'DELETE',
      'X-Forwarded-Uri': '/public',
    };
    const reader = await gateway.issueToken({ scope: 'device:read' });
    expect((await call({ ...bearer(reader), ...forged })).status).toBe(200);
    const { url, headers } = service.last();
    expect(url).toBe(URI);
    expect(headers).toMatchObject({ ...identity, 'x-auth-scope': 'device:read' });
    service.requests.length = 0;
    // The signature is good for the request that the forged headers name.
    const signed = gateway.signedV2({ method: 'DELETE', path: '/public' });
    await expectRefused(await call({ ...signed, ...forged }), 401, 'invalid_signature');
  });

  test.each(forgedHeaders)('%s removes the header %s of the caller', async (_id, header, value) => {
    const good = bearer(await gateway.issueToken());
    expect((await call({ ...good, [header]: value })).status).toBe(200);
    const { method, url, headers } = service.last();
    expect([method, url]).toEqual(['GET', URI]);
    expect(headers[header.toLowerCase()]).not.toBe(value);
  });

  test('removes headers that a service could read as X-Auth-Subject', async () => {
    const good = bearer(await gateway.issueToken());
    const aliases = Object.fromEntries(aliasesOfSubject.map((alias) => [alias, 'admin']));
    expect((await call({ ...good, ...aliases })).status).toBe(200);
    const { headers, rawHeaders } = service.last();
    expect(headers['x-auth-subject']).toBe('demo');
    expect(rawHeaders).not.toContain('admin');
  });

  test('CVE-2025-48865 lets no caller remove the identity with Connection', async () => {
    const token = await gateway.issueToken();
    const nominate = (named: string) =>
      call({ ...bearer(token), 'X-Auth-Subject': 'admin', Connection: named });
    const own = 'X-Auth-Subject, X-Auth-Client-Id, X-Auth-Scope';
    for (const named of [own, 'X-Original-URI, X-Forwarded-Uri']) {
      expect((await nominate(named)).status).toBe(200);
      const { headers } = service.last();
      expect(headers).toMatchObject(identity);
      expect(headers.authorization).toMatch(/^Bearer ey/);
      // The next hop would remove what Connection names.
      expect(headers.connection ?? '').not.toMatch(/x-|authorization/i);
    }
    service.requests.length = 0;
    const withoutCredential = await nominate('close, Authorization');
    if (name === 'Caddy') {
      // Caddy removes the credential before it asks.
      await expectRefused(withoutCredential, 401, 'unauthorized');
    } else {
      expect(withoutCredential.status).toBe(200);
      expect(service.last().headers.authorization).toMatch(/^Bearer ey/);
      expect(service.last().headers.connection ?? '').not.toMatch(/authorization/i);
    }
  });

  test('rejects with the status, the code and the headers of the gateway', async () => {
    const anonymous = await call({ 'X-Auth-Subject': 'admin' });
    await expectRefused(anonymous, 401, 'unauthorized');
    expect(anonymous.headers['www-authenticate']).toMatch(/^Bearer realm="gatehouse"/);
    expect(anonymous.headers['www-authenticate']).not.toMatch(/realm.*realm/);
    const writer = await gateway.issueToken({ scope: 'device:write' });
    const denied = await call(bearer(writer));
    await expectRefused(denied, 403, 'access_denied');
    expect(denied.headers['www-authenticate']).toContain('scope="device:read"');
    await expectRefused(await call({}, URI, { method: 'OPTIONS' }), 401, 'unauthorized');
    const twice = ['Authorization', 'Bearer a', 'X-Access-Token', 'b'];
    await expectRefused(await call(twice), 400, 'multiple_credentials');
  });

  test('rejects with 429 and Retry-After, separately for each caller', async () => {
    const from = '127.0.0.5';
    let reply = await call({}, URI, { from });
    for (let count = 0; count < ADDRESS_LIMIT && reply.status === 401; count += 1) {
      reply = await call({ 'X-Forwarded-For': `198.51.100.${count}` }, URI, { from });
    }
    await expectRefused(reply, 429, 'too_many_requests');
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    expect((await call({}, URI, { from: '127.0.0.6' })).status).toBe(401);
  });

  test.each(['/x/../reports', '/x/%2e%2e/reports', '/a%2fb', '//reports', '/r%65ports'])(
    'rejects the path %p, which the service could read differently',
    async (path) => {
      const reply = await call(bearer(await gateway.issueToken()), path);
      expect([400, 301, 308]).toContain(reply.status);
      expect(service.requests).toEqual([]);
    },
  );

  test('rejects a token in the query, and keeps it out of its log', async () => {
    const token = await gateway.issueToken();
    const reply = await call({}, `/reports?access_token=${token}`);
    await expectRefused(reply, 401, 'unauthorized');
    expect(proxy.logged()).not.toContain(token);
  });

  test('accepts a signed GET once, and rejects signatures over bodies', async () => {
    const [path = '', query = ''] = URI.split('?');
    const signed = gateway.signedV2({ path, query });
    expect((await call(signed)).status).toBe(200);
    const { headers } = service.last();
    for (const header of ['x-sign-v2', 'x-nonce', 'x-client-id', 'x-timestamp']) {
      expect(headers[header] ?? '').toBe('');
    }
    service.requests.length = 0;
    await expectRefused(await call(signed), 401, 'replayed_request');
    const body = '{}';
    const post = { method: 'POST', body };
    const contentType = 'application/json';
    const version2 = gateway.signedV2({ ...post, path, query, contentType });
    await expectRefused(await call(version2, URI, post), 401, 'signed_body_not_verifiable');
    const version1 = { 'Content-Type': contentType, ...gateway.signed({ body }) };
    await expectRefused(await call(version1, path, post), 401, 'signed_body_not_verifiable');
  });

  test.each(['websocket', 'h2c', 'h2c, websocket'])(
    'CWE-444 offers the service no protocol except WebSocket, if a caller offers %p',
    async (protocol) => {
      const good = bearer(await gateway.issueToken());
      const offer = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: protocol, ...webSocketKey };
      expect((await call({ ...good, ...offer, 'HTTP2-Settings': 'AA' })).status).toBe(200);
      const { upgrade, connection = '' } = service.last().headers;
      if (name.startsWith('nginx')) {
        expect([upgrade, connection]).toEqual([undefined, '']);
      } else {
        expect([upgrade, connection.toLowerCase()]).toEqual(['websocket', 'upgrade']);
      }
    },
  );

  test('notices a revocation', async () => {
    const token = await gateway.issueToken();
    expect((await call(bearer(token))).status).toBe(200);
    await gateway.identity.revocations.token(token);
    if (name === 'nginx with a cache') {
      await until(async () => (await call(bearer(token))).status === 401);
    }
    service.requests.length = 0;
    await expectRefused(await call(bearer(token)), 401, 'unauthorized');
  });

  if (name === 'nginx with a cache') {
    test('asks less often for equal requests, and again for another method, URI, caller, token, cookie or site', async () => {
      const token = await gateway.issueToken();
      const other = await gateway.issueToken();
      const asked = () =>
        gateway.logLines().filter(({ operation }) => operation === 'forward-auth');
      const before = asked().length;
      for (let repeated = 0; repeated < 100; repeated += 1) {
        expect((await call(bearer(token))).status).toBe(200);
      }
      const cached = asked().length;
      expect(cached - before).toBeLessThan(90);
      for (const different of [
        call(bearer(token), URI, { method: 'DELETE' }),
        call(bearer(token), '/reports/8'),
        call(bearer(token), URI, { from: '127.0.0.7' }),
        call(bearer(other)),
        // Otherwise browsers behind one address would share the session of one user.
        call({ ...bearer(token), Cookie: '__Host-gatehouse=x' }),
        call({ ...bearer(token), 'Sec-Fetch-Site': 'cross-site' }),
        call({ ...bearer(token), Origin: 'https://evil.example' }),
      ]) {
        expect((await different).status).toBe(200);
      }
      await until(() => asked().length - cached >= 7);
    });

    test('uses no answer for another server, which requires another scope', async () => {
      const reader = bearer(await gateway.issueToken({ scope: 'device:read' }));
      for (let repeated = 0; repeated < 100; repeated += 1) {
        const reports = call({ ...reader, Host: 'reports.example' });
        const writes = call({ ...reader, Host: 'writes.example' });
        expect([(await reports).status, (await writes).status]).toEqual([200, 403]);
      }
    });
  }

  test.each(['/_verify', '/_verify/reports', '/_verify?scope=device:read'])(
    'lets no caller ask the gateway at %s, even with a credential',
    async (path) => {
      const good = bearer(await gateway.issueToken());
      const original = { 'X-Original-Method': 'GET', 'X-Original-URI': '/api/device' };
      const reply = await call({ ...good, ...original }, path);
      expect(Object.keys(reply.headers).join()).not.toMatch(/authorization|x-auth-/);
      expect(JSON.stringify([reply.headers, reply.body.toString()])).not.toContain('Bearer ey');
      // nginx has its own location at /_verify. Otherwise it is a path of the service.
      const isOwn = name.startsWith('nginx') && !path.startsWith('/_verify/');
      expect([reply.status, service.requests.map(({ url }) => url)]).toEqual(
        isOwn ? [404, []] : [200, [path]],
      );
    },
  );

  test('rejects with 503 while the store or the gateway is unavailable', async () => {
    const good = bearer(await gateway.issueToken());
    expect((await call(good)).status).toBe(200);
    service.requests.length = 0;
    const other = bearer(await gateway.issueToken());
    await redis.kill();
    const reply = await call(other);
    await expectRefused(reply, 503, 'service_unavailable');
    expect(reply.headers['retry-after']).toBe('1');
    await gateway.close();
    isGatewayClosed = true;
    expect([502, 503]).toContain((await call(other)).status);
    expect(service.requests).toEqual([]);
  });
});
