// requires: redis-server
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { authorizeAsUser, postAs, storeEngines } from '@gatehouse/testing';
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
