import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { routes } from '@gatehouse/device-api';
import { exchange } from '@gatehouse/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { camera, createDeviceClient } from './device-client.ts';
import { bootSuiteApp } from './device-suite.ts';

const app = await bootSuiteApp();
const client = createDeviceClient(app);
const all = ['device:read', 'device:write', 'device:log', 'device:report'];
const bearer = async (scopes: readonly string[] = all) =>
  `Bearer ${await app.gateway.token({ scope: scopes.join(' ') })}`;
let authorization: string;
beforeEach(async () => {
  authorization = await bearer();
});

/** The status, the headers and the parsed body, if it is JSON. */
async function call(method: string, path: string, init: RequestInit = {}) {
  const headers = { authorization, ...(init.headers as Record<string, string> | undefined) };
  const reply = await fetch(app.url + path, { ...init, method, headers });
  const text = await reply.text();
  // biome-ignore lint/suspicious/noExplicitAny: tests read replies of any shape
  const body: any = text === '' ? {} : JSON.parse(text);
  return { status: reply.status, headers: reply.headers, text, body };
}

const json = { 'content-type': 'application/json' };
const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json) =>
  call('POST', '/device-instance', { headers: { ...json, ...headers }, body });
const expectNoDevices = async () =>
  expect((await client.list('', 'org-1')).result.map(({ id }) => id)).toEqual([]);

const good = '{"id":"good","name":"Good","productId":"p","productName":"P"}';
const withConfiguration = (configuration: string) =>
  `{"name":"N","productId":"p","productName":"P","configuration":${configuration}}`;
const manyKeys = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, '']));

// packages/server tests the parser.
describe('a creation body', () => {
  test.each([
    ['with a repeated member', '{"id":"a","id":"b","name":"N","productId":"p","productName":"P"}'],
    ['with a repeated member deep inside', withConfiguration('{"a":"1","a":"2"}')],
    ['with __proto__ in its configuration', withConfiguration('{"__proto__":"x"}')],
    ['with a number in its configuration', withConfiguration('{"a":1}')],
    ['with an object in its configuration', withConfiguration('{"a":{}}')],
    ['with 10,000 configuration keys', withConfiguration(JSON.stringify(manyKeys))],
    ['that is empty', ''],
    ['that is truncated', good.slice(0, -1)],
    ['with trailing data', `${good}x`],
    ['that is an array', `[${good}]`],
    ['that is null', 'null'],
    ['with a byte order mark', `\uFEFF${good}`],
    ['that is not UTF-8', Buffer.from('{"name":"\xff\xfe"}', 'latin1')],
    ['that is nested too deeply', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['with a lone surrogate in its name', '{"name":"\\ud800","productId":"p","productName":"P"}'],
    ['with a line break in its name', '{"name":"a\\nb","productId":"p","productName":"P"}'],
  ])('%s is 400 illegal_argument', async (_what, sent) => {
    const { body, text } = await post(sent);
    expect(body).toMatchObject({ status: 400, code: 'illegal_argument' });
    expect(text.length).toBeLessThan(1000);
    await expectNoDevices();
  });

  test.each([
    [{ 'content-type': 'text/plain' }, good],
    [{ 'content-type': 'application/x-www-form-urlencoded' }, good],
    [{ 'content-type': 'application/json; charset=gbk' }, good],
    [{ 'content-type': 'application/json, text/plain' }, good],
    [{ 'content-type': 'application/jsonp' }, good],
    [{ 'content-encoding': 'gzip' }, new Uint8Array(gzipSync(good))],
  ])('with %j is 415', async (headers, sent) => {
    const { status, body } = await post(sent, headers as Record<string, string>);
    expect([status, body.code]).toEqual([415, 'unsupported_media_type']);
    await expectNoDevices();
  });

  test('larger than 1 MiB is 413, with and without a Content-Length', async () => {
    const large = `{"name":"${'x'.repeat(1024 * 1024)}"}`;
    const declared = await post(large);
    expect([declared.status, declared.body.code]).toEqual([413, 'payload_too_large']);
    expect(declared.headers.get('connection')).toBe('close');
    const chunked = { body: new Blob([large]).stream(), duplex: 'half', headers: json };
    const reply = await call('POST', '/device-instance', chunked as RequestInit);
    expect(reply.status).toBe(413);
  });

  const headOf = (framing: string, version = 'HTTP/1.1') =>
    `POST /device-instance ${version}\r\nHost: x\r\nAuthorization: ${authorization}\r\n` +
    `Content-Type: application/json\r\n${framing}\r\n\r\n`;

  test.each([
    ['chunked', 'HTTP/1.0', 'needs HTTP/1.1'],
    ['gzip, chunked', 'HTTP/1.1', 'must be chunked'],
  ])(
    'CWE-444 with Transfer-Encoding: %s in %s gets 400 and closes the connection',
    async (encoding, version, message) => {
      const smuggled = `0\r\n\r\nGET /api/device HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}`;
      const head = headOf(`Transfer-Encoding: ${encoding}`, version);
      const reply = await exchange(app.url, `${head}${smuggled}\r\n\r\n`);
      expect(reply.match(/^HTTP\/1\.[01] \d+/gm)).toEqual(['HTTP/1.1 400']);
      expect(reply).toMatch(/^connection: close\r$/im);
      expect(reply).toContain(`"property":"Transfer-Encoding","message":"${message}"`);
    },
  );

  test('of a batch can have up to 16 MiB', async () => {
    const body = (bytes: number) => `[{"name":"${'x'.repeat(bytes)}"}]`;
    expect((await client.createAll(body(15 * 1024 * 1024))).result.failed).toBe(1);
    expect((await client.createAll(body(17 * 1024 * 1024))).status).toBe(413);
  });

  test('that is incomplete creates no device', async () => {
    const socket = connect(app.port, '127.0.0.1');
    socket.end(`${headOf('Content-Length: 5000')}${good}`);
    // The service may answer with an error before it notices the end.
    expect(await readText(socket)).toMatch(/^$|^HTTP\/1\.1 400 /);
    await expectNoDevices();
  });

  test('with charset utf-8 is accepted', async () => {
    expect((await post(good, { 'content-type': 'application/json;charset=UTF-8' })).status).toBe(
      200,
    );
  });
});

describe('a route', () => {
  const concrete = (path: string) =>
    path
      .replace('{deviceId}', 'known')
      .replace('{productId}', 'cameras')
      .replace('{tagId}', 'known:k');

  test('is listed once', () => {
    const names = routes.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(routes.map(({ method, path, operation }) => [method, path, operation.scope] as const))(
    '%s %s requires %s',
    async (method, path, scope) => {
      await client.create({ id: 'known', ...camera });
      const ask = async (scopes: readonly string[]) =>
        call(method, concrete(path), {
          headers: { ...json, authorization: await bearer(scopes) },
          ...(method !== 'GET' && { body: '[[[' }),
        });
      const refused = await ask(all.filter((other) => other !== scope));
      expect([refused.status, refused.body.code]).toEqual([403, 'access_denied']);
      const challenge = `Bearer error="insufficient_scope", scope="${scope}"`;
      expect(refused.headers.get('www-authenticate')).toBe(challenge);
      const { status } = await ask([scope]);
      const mayBeMissing = path.includes('{tagId}') || method === 'DELETE';
      expect(mayBeMissing ? [200, 400, 404] : [200, 400]).toContain(status);
      await client.call('POST', '/device/instance/known/_unDeploy');
    },
  );

  test.each(routes.map(({ path }) => path))('answers PUT %s with 405 and Allow', async (path) => {
    const { status, headers } = await call('PUT', concrete(path));
    expect([status, headers.get('allow')]).toEqual([405, expect.stringMatching(/[A-Z]/)]);
  });

  test('called with another method is 405 with the methods of its path', async () => {
    const put = await call('PUT', '/api/device');
    expect([put.body.code, put.headers.get('allow')]).toEqual(['method_not_allowed', 'GET, HEAD']);
    expect((await call('OPTIONS', '/device-instance')).status).toBe(405);
    expect((await call('GET', '/device-instance')).headers.get('allow')).toBe('POST');
  });

  test.each(['/', '/API/device', '/api/device/', '//api/device', '/api/v1/device/_detail'])(
    'that does not exist is 404: %s',
    async (path) => {
      expect((await call('GET', path)).body).toMatchObject({ status: 404, code: 'not_found' });
    },
  );

  test('answers HEAD as GET without a body', async () => {
    expect(await call('HEAD', '/api/device')).toMatchObject({ status: 200, text: '' });
  });

  test('with a path that cannot be decoded is 400', async () => {
    const { body } = await call('GET', '/api/v1/device/%zz/_detail');
    expect(body.code).toBe('illegal_argument');
  });

  test('sends the security headers on success and failure, and no version', async () => {
    for (const path of ['/api/device', '/nowhere']) {
      const headers = Object.fromEntries((await call('GET', path)).headers);
      const security = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
      expect(headers).toMatchObject(security);
      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers).not.toHaveProperty('etag');
    }
  });

  test('serves /api/v1/device/_query as a query, never as the device _query', async () => {
    await client.create({ id: 'known', ...camera });
    const path = '/api/v1/device/_query';
    for (const query of [
      await client.call('POST', path, { where: 'id = known' }),
      await client.call('GET', `${path}?where=id%20%3D%20known`),
    ]) {
      expect(query.result).toMatchObject({ total: 1, data: [{ id: 'known' }] });
    }
    for (const method of ['DELETE', 'PATCH', 'PUT']) {
      const reply = await client.call(method, path, method === 'DELETE' ? undefined : {});
      expect([reply.status, reply.headers.allow]).toEqual([405, 'POST, GET, HEAD']);
    }
  });

  test.each([
    '/device/instance/_query',
    '/device-instance/_query',
    '/api/v1/device/_query',
    '/device/product/_query',
    '/api/v1/device/known/log/_query',
    '/device/instance/_count',
  ])('serves POST %s without a body as {}', async (path) => {
    const resultOf = async (init: RequestInit) => (await call('POST', path, init)).body.result;
    const expected = await resultOf({ headers: json, body: '{}' });
    expect(expected).toBeDefined();
    expect(await resultOf({})).toEqual(expected);
    expect(await resultOf({ headers: json })).toEqual(expected);
    expect((await call('POST', path, { body: '{}' })).status).toBe(415);
    expect((await call('POST', path, { headers: json, body: ' ' })).status).toBe(400);
  });
});

describe('an operation without input', () => {
  const path = '/device-instance/bare';

  test.each([
    ['POST', `${path}/_deploy`, '{"id":"bare"}', 'body'],
    ['POST', `${path}/deploy`, '{}', 'body'],
    ['POST', `${path}/_unDeploy`, ' ', 'body'],
    ['DELETE', path, '{}', 'body'],
    ['DELETE', `${path}/tag/a`, '{}', 'body'],
    ['DELETE', `${path}?status=200`, undefined, 'status'],
    ['DELETE', `${path}/tag/a?%7B%22a%22%3A%22b=c%22%7D`, undefined, '{"a":"b'],
  ])('rejects %s %s with the body %s', async (method, target, body, property) => {
    await client.create({ id: 'bare', ...camera });
    const reply = await call(method, target, { ...(body && { headers: json, body }) });
    expect(reply.body).toMatchObject({
      code: 'illegal_argument',
      result: [{ property, message: expect.any(String) }],
    });
    expect((await client.detail('bare')).result.state.value).toBe('notActive');
  });

  test('succeeds without input', async () => {
    await client.create({ id: 'bare', ...camera });
    expect((await call('POST', `${path}/_deploy`)).status).toBe(200);
    expect((await call('POST', `${path}/_unDeploy?any=1`)).status).toBe(200);
    expect((await call('DELETE', `${path}?`)).status).toBe(200);
  });
});
