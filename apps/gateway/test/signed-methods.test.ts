import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Route } from '../src/routes/route.ts';
import { deviceRoutes } from '../src/routes/route.ts';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send } from './http-client.ts';
import { digest, type Signing } from './test-credentials.ts';

let booted: BootedGateway;
let now = Date.now();

beforeAll(async () => {
  const { ...put } = deviceRoutes.find(({ operation }) => operation === 'device.update') as Route;
  booted = await bootGateway({
    now: () => now,
    routes: [...deviceRoutes, { ...put, operation: 'device.replace', method: 'PUT' }],
  });
  await booted.saveClient(
    { clientId: 'md5', signatureAlgorithm: 'MD5' },
    'the key of the MD5 client',
  );
});
afterAll(() => closeUnharmed(booted));
beforeEach(() => {
  now += 1000;
  booted.upstream.requests.length = 0;
});

function call(method: string, path: string, signing: Signing, headers = {}) {
  const query = signing.query === undefined ? '' : `?${signing.query}`;
  return send(booted.port, path + query, {
    method,
    headers: { ...booted.signed(signing), ...headers },
    ...(signing.body === undefined ? {} : { body: signing.body }),
  });
}

const md5: Signing = {
  clientId: 'md5',
  secureKey: 'the key of the MD5 client',
  algorithm: 'MD5',
};

describe.each([
  ['SHA-256', {}],
  ['MD5', md5],
] as const)('a request signed with %s', (algorithm, client) => {
  test.each(['DELETE', 'HEAD', 'GET'])('as %s signs its query', async (method) => {
    const path = '/api/v1/device/d1';
    const reply = await call(method, path, { ...client, query: 'b=2&a=1&a=0' });
    expect(reply.status).toBe(200);
    const { method: seen, url } = booted.upstream.last();
    expect([seen, url]).toEqual([method, `${path}?a=1%2C0&b=2`]);
    expect(reply.headers['x-sign'] === undefined).toBe(method === 'HEAD');
  });

  test.each(['PATCH', 'PUT'])('as %s signs its body', async (method) => {
    const body = '{"name":"é"}';
    const headers = { 'Content-Type': 'application/json' };
    const reply = await call(method, '/api/v1/device/d1', { ...client, body }, headers);
    expect(reply.status).toBe(200);
    expect(booted.upstream.last().body.toString()).toBe(body);
    const key = 'secureKey' in client ? client.secureKey : booted.secureKey;
    expect(reply.headers['x-sign']).toBe(
      digest(algorithm, reply.body, String(reply.headers['x-timestamp']), key),
    );
    const changed = await send(booted.port, '/api/v1/device/d1', {
      method,
      headers: { ...headers, ...booted.signed({ ...client, body }) },
      body: `${body} `,
    });
    expect(changed.json.code).toBe('invalid_signature');
  });

  test('as OPTIONS gets the methods of the path from the gateway', async () => {
    const reply = await call('OPTIONS', '/api/device', { ...client, query: '' });
    expect([reply.status, reply.headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS']);
    expect(reply.headers).not.toHaveProperty('x-sign');
    now += 1;
    expect((await call('OPTIONS', '/none', { ...client, query: '' })).status).toBe(404);
    expect((await send(booted.port, '/api/device', { method: 'OPTIONS' })).status).toBe(401);
    expect(booted.upstream.requests).toEqual([]);
  });
});

test.each([
  ['X-Sign-Algorithm', 'MD5'],
  ['X-Digest', 'MD5'],
  ['Digest', 'MD5'],
])('the header %s does not select an algorithm', async (name, value) => {
  const reply = await call('GET', '/api/device', { algorithm: 'MD5' }, { [name]: value });
  expect([reply.status, reply.json.code]).toEqual([401, 'invalid_signature']);
});

test('no parameter selects an algorithm', async () => {
  const query = 'algorithm=MD5&signType=MD5';
  const reply = await call('GET', '/api/device', { algorithm: 'MD5', query });
  expect([reply.status, reply.json.code]).toEqual([401, 'invalid_signature']);
});

test('a version 1 signature captured before its first use is valid once for another path', async () => {
  // In the compatible profile, parallel reads of one address may share a signature.
  const strict = await bootGateway({ strict: true });
  const headers = strict.signed({ query: '' });
  const elsewhere = await send(strict.port, '/api/v1/device/other/_detail', { headers });
  const meant = await send(strict.port, '/api/device', { headers });
  expect([elsewhere.status, meant.json.code]).toEqual([200, 'replayed_request']);
  await strict.close();

  const page = fileURLToPath(new URL('../../../docs/signing.md', import.meta.url));
  expect(readFileSync(page, 'utf8')).toMatch(/before.* it arrives.*Not prevented/);
});
