// requires: redis-server curl

import { execFile } from 'node:child_process';
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { authorizeAsUser, exchange, postAs, storeEngines } from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';

const secureKey = 'endToEndKey0123456789';
const redirectUri = 'https://app.example/callback';
const alice = { username: 'alice', password: 'correct horse battery' };

const client = {
  name: 'Application',
  orgId: 'org-1',
  secureKey,
  grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
  redirectUris: [redirectUri],
  scopes: ['device:read', 'device:write'],
};
const bootstrap = {
  organizations: [
    { id: 'org-1', name: 'One' },
    { id: 'org-2', name: 'Two' },
  ],
  clients: [
    { ...client, clientId: 'one' },
    { ...client, clientId: 'two', orgId: 'org-2', signatureAlgorithm: 'MD5' },
  ],
  users: [{ ...alice, name: 'Alice', orgId: 'org-1' }],
};

const digests = { one: 'sha256', two: 'md5' } as const;

const systems = await startOnEachEngine({ bootstrap }, storeEngines);

describe.each(systems)('the whole system on $engine', ({ system }) => {
  const secrets: string[] = [secureKey, alice.password];

  async function token(parameters: Record<string, string>, clientId = 'one') {
    const url = `${system.authorizationServerUrl}/token`;
    const reply = await postAs(url, { clientId, secureKey }, parameters);
    const body = (await reply.json()) as Record<string, string>;
    secrets.push(...[body.access_token, body.refresh_token].filter((value) => value !== undefined));
    return { status: reply.status, body };
  }

  async function withBearer(value: string | undefined, path = '/api/device') {
    const reply = await fetch(`${system.gatewayUrl}${path}`, {
      headers: { authorization: `Bearer ${value}` },
    });
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
  }

  function sign(clientId: keyof typeof digests, text: string) {
    const timestamp = String(Date.now());
    const signature = createHash(digests[clientId])
      .update(text + timestamp + secureKey)
      .digest('hex');
    return { 'X-Client-Id': clientId, 'X-Timestamp': timestamp, 'X-Sign': signature };
  }

  /** Signs a request of client `one` without query and body, with version 2. */
  function signV2(method: string, path: string) {
    const timestamp = String(Date.now());
    const nonce = randomUUID();
    const nothing = createHash('sha256').digest('hex');
    const lines = ['GATEHOUSE-V2', method, path, '', '', nothing, 'one', timestamp, nonce];
    const signature = createHmac('sha256', secureKey).update(lines.join('\n')).digest('hex');
    secrets.push(nonce, signature);
    const client = { 'X-Client-Id': 'one', 'X-Timestamp': timestamp };
    return { ...client, 'X-Nonce': nonce, 'X-Sign-V2': signature };
  }

  async function createSigned(clientId: keyof typeof digests, id: string) {
    const body = JSON.stringify({ id, name: id, productId: 'p', productName: 'Product' });
    const reply = await fetch(`${system.gatewayUrl}/device-instance`, {
      method: 'POST',
      headers: { ...sign(clientId, body), 'Content-Type': 'application/json' },
      body,
    });
    const text = await reply.text();
    const expected = createHash(digests[clientId])
      .update(text + reply.headers.get('x-timestamp') + secureKey)
      .digest('hex');
    expect(reply.headers.get('x-sign')).toBe(expected);
    return { status: reply.status, body: JSON.parse(text) };
  }

  test('creates a device with a signed request and reads it with a token of a machine', async () => {
    expect(await createSigned('one', 'pump-1')).toMatchObject({ status: 200 });
    const { body } = await token({ grant_type: 'client_credentials' });
    const device = { id: 'pump-1', orgId: 'org-1' };
    const list = await withBearer(body.access_token);
    expect(list).toMatchObject({ status: 200, body: { result: [device] } });
    const detail = await withBearer(body.access_token, '/api/v1/device/pump-1/_detail');
    expect(detail).toMatchObject({ status: 200, body: { code: 'success', result: device } });
  });

  test('shows a device to its own organization only', async () => {
    expect(await createSigned('one', 'pump-2')).toMatchObject({ status: 200 });
    const { body } = await token({ grant_type: 'client_credentials' }, 'two');
    const foreign = await withBearer(body.access_token, '/api/v1/device/pump-2/_detail');
    const missing = await withBearer(body.access_token, '/api/v1/device/no-such/_detail');
    expect([foreign.status, missing.status]).toEqual([404, 404]);
    expect({ ...foreign.body, timestamp: 0 }).toEqual({ ...missing.body, timestamp: 0 });
    expect((await withBearer(body.access_token)).body.result).toEqual([]);
  });

  test('gives a token for the organization of the user, and revokes it after a replay of the code', async () => {
    const query = `response_type=code&client_id=two&redirect_uri=${redirectUri}`;
    const url = `${system.authorizationServerUrl}/authorize?${query}`;
    const landing = await authorizeAsUser(url, alice);
    const code = landing.searchParams.get('code') ?? '';
    secrets.push(code);
    const redemption = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    const first = await token(redemption, 'two');
    const before = await withBearer(first.body.access_token);
    expect(before.status).toBe(200);
    expect(before.body.result).toMatchObject([{ orgId: 'org-1' }, { orgId: 'org-1' }]);
    expect((await token(redemption, 'two')).body.error).toBe('invalid_grant');
    expect((await withBearer(first.body.access_token)).status).toBe(401);
  });

  test('rejects requests to the device service that bypass the gateway', async () => {
    const { body } = await token({ grant_type: 'client_credentials' });
    for (const headers of [{}, { authorization: `Bearer ${body.access_token}` }]) {
      const reply = await fetch(`${system.deviceServiceUrl}/api/device`, { headers });
      expect(reply.status).toBe(401);
    }
  });

  test('rejects a captured version 2 request for another device', async () => {
    for (const id of ['pump-v2-a', 'pump-v2-b']) {
      expect(await createSigned('one', id)).toMatchObject({ status: 200 });
    }
    const captured = signV2('POST', '/api/v1/device/pump-v2-a/_deploy');
    const post = async (id: string) => {
      const url = `${system.gatewayUrl}/api/v1/device/${id}/_deploy`;
      const reply = await fetch(url, { method: 'POST', headers: captured });
      const { code } = (await reply.json()) as { code: string };
      return { status: reply.status, code, signature: reply.headers.get('x-sign-v2') };
    };
    const refused = { status: 401, code: 'invalid_signature' };
    expect(await post('pump-v2-b')).toMatchObject(refused);
    const signature = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(await post('pump-v2-a')).toMatchObject({ status: 200, signature });
    expect(await post('pump-v2-a')).toMatchObject({ status: 401, code: 'replayed_request' });

    const { body } = await token({ grant_type: 'client_credentials' });
    const stateOf = async (id: string) =>
      (await withBearer(body.access_token, `/api/v1/device/${id}/_detail`)).body.result;
    expect(await stateOf('pump-v2-a')).toMatchObject({ state: { value: 'offline' } });
    expect(await stateOf('pump-v2-b')).toMatchObject({ state: { value: 'notActive' } });
  });

  test('writes no secret, token or code into any log at debug level', async () => {
    const output = await system.outputWith('"operation":"device.list"');
    expect(secrets.length).toBeGreaterThan(6);
    for (const secret of secrets) {
      expect(output).not.toContain(secret);
    }
  });

  test('stores no secret, token or code in a form that can be read', async () => {
    const stored = await system.storedText();
    expect(stored).toContain('client:one');
    for (const secret of secrets) {
      expect(stored).not.toContain(secret);
    }
  });
});

const run = promisify(execFile);
const { system } = systems[0] as (typeof systems)[0];
const tokenRequest = ['-u', `one:${secureKey}`, '-d', 'grant_type=client_credentials'];
const token: string = JSON.parse(
  await curl(`${system.authorizationServerUrl}/token`, ...tokenRequest),
).access_token;

async function curl(...words: readonly string[]): Promise<string> {
  const { stdout } = await run('curl', ['-sS', '--max-time', '20', '--http2', ...words]);
  return stdout;
}

function get(url: string, target: string, headers = ''): Promise<string> {
  const head = `Host: localhost\r\nConnection: close\r\n${headers}\r\n`;
  return exchange(url, `GET ${target} HTTP/1.1\r\n${head}`);
}

describe('curl --http2 over http', () => {
  test('gets HTTP/1.1 from the authorization server, also for a body and a reused handle', async () => {
    const { authorizationServerUrl: url } = system;
    const format = ['-o', '/dev/null', '-w', '%{http_code} %{http_version}\n'];
    const discovery = `${url}/.well-known/openid-configuration`;
    expect(await curl(...format, discovery, ...format, `${url}/jwks`)).toBe('200 1.1\n200 1.1\n');
    expect(await curl(...format, ...tokenRequest, `${url}/token`)).toBe('200 1.1\n');
  });

  test('gets HTTP/1.1 from the gateway, also for a body', async () => {
    const words = ['-H', `Authorization: Bearer ${token}`, '-w', '%{http_code} %{http_version}'];
    expect(await curl(...words, `${system.gatewayUrl}/api/device`)).toMatch(/200 1\.1$/);
    const query = `${system.gatewayUrl}/device/instance/_query`;
    const body = ['-H', 'Content-Type: application/json', '-d', '{}'];
    expect(await curl(...words, ...body, query)).toMatch(/"status":200.*200 1\.1$/s);
  });

  test('gets HTTP/1.1 from the device service', async () => {
    const format = ['-o', '/dev/null', '-w', '%{http_code} %{http_version}'];
    expect(await curl(...format, `${system.deviceServiceUrl}/api/device`)).toBe('401 1.1');
  });
});

describe('a target in absolute form', () => {
  test('is served by the authorization server, which never uses its authority', async () => {
    const { authorizationServerUrl: url } = system;
    const reply = await get(url, 'http://evil.example/.well-known/openid-configuration');
    expect(reply).toMatch(/^HTTP\/1\.1 200 /);
    expect(reply).toContain(`"issuer":"${url}"`);
    expect(reply).not.toContain('evil.example');
    const page = await get(url, 'http://evil.example/authorize?client_id=none');
    expect(page).not.toContain('evil.example');
  });

  test('is served by the gateway and the device service', async () => {
    const bearer = `Authorization: Bearer ${token}\r\n`;
    const reply = await get(system.gatewayUrl, 'http://evil.example/api/device', bearer);
    expect(reply).toMatch(/^HTTP\/1\.1 200 .*"status":200/s);
    const service = await get(system.deviceServiceUrl, 'http://evil.example/api/device');
    expect(service).toMatch(/^HTTP\/1\.1 401 .*"code":"unauthorized"/s);
  });

  test('with user information is rejected by every server', async () => {
    for (const url of [system.authorizationServerUrl, system.gatewayUrl, system.deviceServiceUrl]) {
      const reply = await get(url, 'http://localhost@evil.example/api/device');
      expect(reply).toMatch(/^HTTP\/1\.1 400 .*"illegal_argument"/s);
    }
  });
});

test('a request with two Host headers is rejected by every server', async () => {
  for (const url of [system.authorizationServerUrl, system.gatewayUrl, system.deviceServiceUrl]) {
    const reply = await get(url, '/', 'Host: evil.example\r\n');
    expect(reply).toMatch(/^HTTP\/1\.1 400 .*The Host header was sent twice\./s);
  }
});
