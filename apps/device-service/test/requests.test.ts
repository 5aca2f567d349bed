import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { type BootedApp, bootApp } from './booted-app.ts';

let app: BootedApp;
let authorization: string;

beforeAll(async () => {
  app = await bootApp();
  authorization = `Bearer ${await app.gateway.token()}`;
});

afterAll(() => app.close());

const good = '{"id":"good","name":"Good","productId":"p","productName":"P"}';

async function post(body: string | Buffer, headers: Readonly<Record<string, string>> = {}) {
  const reply = await fetch(`${app.url}/device-instance`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', ...headers },
    body,
  });
  const envelope = (await reply.json()) as { readonly code: string };
  return { status: reply.status, headers: reply.headers, body: envelope };
}

async function expectNoDevices() {
  const reply = await request(app.url).get('/api/device').set('Authorization', authorization);
  expect(reply.body.result).toEqual([]);
}

describe('a creation body', () => {
  test.each([
    ['with a repeated member', '{"id":"a","id":"b","name":"N","productId":"p","productName":"P"}'],
    ['with a member repeated as an escape', '{"name":"a","\\u006eame":"b","productId":"p"}'],
    [
      'with a repeated member deep inside',
      '{"name":"N","productId":"p","productName":"P","configuration":{"a":"1","a":"2"}}',
    ],
    [
      'with __proto__ in its configuration',
      '{"name":"N","productId":"p","productName":"P","configuration":{"__proto__":"x"}}',
    ],
    [
      'with a number in its configuration',
      '{"name":"N","productId":"p","productName":"P","configuration":{"a":1}}',
    ],
    [
      'with an object in its configuration',
      '{"name":"N","productId":"p","productName":"P","configuration":{"a":{}}}',
    ],
    [
      'with 10,000 configuration keys',
      JSON.stringify({
        name: 'N',
        productId: 'p',
        productName: 'P',
        configuration: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, ''])),
      }),
    ],
    ['that is empty', ''],
    ['that is truncated', good.slice(0, -1)],
    ['with trailing data', `${good}x`],
    ['that is an array', `[${good}]`],
    ['that is null', 'null'],
    ['that is a text', '"x"'],
    ['with a byte order mark', `\uFEFF${good}`],
    ['that is nested too deeply', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['with a lone surrogate in its name', '{"name":"\\ud800","productId":"p","productName":"P"}'],
    ['with a line break in its name', '{"name":"a\\nb","productId":"p","productName":"P"}'],
  ])('%s is 400 illegal_argument', async (_what, body) => {
    const reply = await post(body);

    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ status: 400, code: 'illegal_argument' });
    expect(JSON.stringify(reply.body).length).toBeLessThan(1000);
    await expectNoDevices();
  });

  test('that is not UTF-8 is 400', async () => {
    const body = Buffer.concat([
      Buffer.from('{"name":"'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}'),
    ]);

    expect((await post(body)).body.code).toBe('illegal_argument');
  });

  test.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['application/json; charset=gbk'],
    ['application/json, text/plain'],
    ['application/jsonp'],
  ])('of media type %s is 415', async (mediaType) => {
    const reply = await post(good, { 'content-type': mediaType });

    expect(reply.status).toBe(415);
    expect(reply.body.code).toBe('unsupported_media_type');
  });

  test('that is compressed is 415, and is not decompressed', async () => {
    expect((await post(gzipSync(good), { 'content-encoding': 'gzip' })).status).toBe(415);
    await expectNoDevices();
  });

  test('larger than 1 MiB is 413, with and without a Content-Length', async () => {
    const large = `{"name":"${'x'.repeat(1024 * 1024)}"}`;
    const declared = await post(large);
    const chunked = await fetch(`${app.url}/device-instance`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: new Blob([large]).stream(),
      duplex: 'half',
    } as RequestInit);

    expect(declared.status).toBe(413);
    expect(declared.body.code).toBe('payload_too_large');
    expect(declared.headers.get('connection')).toBe('close');
    expect(chunked.status).toBe(413);
  });

  test('that is incomplete creates no device, and the service keeps running', async () => {
    await new Promise<void>((resolve) => {
      const socket = connect(app.port, '127.0.0.1', () => {
        socket.write(
          `POST /device-instance HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n` +
            `Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n${good}`,
          () => setTimeout(() => socket.destroy(), 50),
        );
      });
      socket.on('error', () => {});
      socket.once('close', () => resolve());
    });

    await expectNoDevices();
  });

  test('with charset utf-8 is accepted', async () => {
    const reply = await post(good, { 'content-type': 'application/json;charset=UTF-8' });

    expect(reply.status).toBe(200);
  });
});

describe('a request with ambiguous framing', () => {
  const send = (lines: readonly string[]) =>
    new Promise<string>((resolve, reject) => {
      let reply = '';
      const socket = connect(app.port, '127.0.0.1', () => {
        socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      });
      socket.setEncoding('utf8').on('data', (data) => {
        reply += data;
      });
      socket.once('close', () => resolve(reply)).once('error', reject);
    });

  test.each([
    ['HTTP/1.0', 'chunked', 'needs HTTP/1.1'],
    ['HTTP/1.1', 'gzip, chunked', 'must be chunked'],
  ])(
    'in %s with Transfer-Encoding: %s gets 400 and closes the connection',
    async (version, encoding, message) => {
      const smuggled = [
        '0',
        '',
        'GET /api/device HTTP/1.1',
        'Host: x',
        `Authorization: ${authorization}`,
      ];
      const reply = await send([
        `POST /device-instance ${version}`,
        'Host: x',
        `Authorization: ${authorization}`,
        'Content-Type: application/json',
        `Transfer-Encoding: ${encoding}`,
        '',
        ...smuggled,
      ]);

      expect(reply.match(/^HTTP\/1\.[01] \d+/gm)).toHaveLength(1);
      expect(reply).toMatch(/^HTTP\/1\.1 400 /);
      expect(reply).toMatch(/^connection: close\r$/im);
      expect(reply).toContain(`"property":"Transfer-Encoding","message":"${message}"`);
    },
  );
});

describe('a route', () => {
  const call = (method: 'get' | 'put' | 'delete' | 'options' | 'post' | 'head', path: string) =>
    request(app.url)[method](path).set('Authorization', authorization);

  test('that does not exist is 404', async () => {
    for (const path of [
      '/',
      '/API/device',
      '/api/device/',
      '//api/device',
      '/api/v1/device/_detail',
    ]) {
      const reply = await call('get', path);

      expect(reply.status).toBe(404);
      expect(reply.body).toMatchObject({ status: 404, code: 'not_found' });
    }
  });

  test('called with another method is 405 with an Allow header', async () => {
    const put = await call('put', '/api/device');
    const options = await call('options', '/device-instance');
    const list = await call('get', '/device-instance');

    expect(put.status).toBe(405);
    expect(put.body.code).toBe('method_not_allowed');
    expect(put.headers.allow).toBe('GET, HEAD');
    expect(options.status).toBe(405);
    expect(list.headers.allow).toBe('POST');
  });

  test('answers HEAD as GET without a body', async () => {
    const reply = await call('head', '/api/device');

    expect(reply.status).toBe(200);
    expect(reply.text ?? '').toBe('');
  });

  test('with a path that cannot be decoded is 400', async () => {
    expect((await call('get', '/api/v1/device/%zz/_detail')).body.code).toBe('illegal_argument');
  });

  test('sends the security headers on success and failure, and no version', async () => {
    for (const path of ['/api/device', '/nowhere']) {
      const { headers } = await call('get', path);

      expect(headers['cache-control']).toBe('no-store');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers).not.toHaveProperty('etag');
    }
  });
});

describe('an operation without input', () => {
  const path = '/device-instance/bare';
  const call = (method: string, target: string, body?: string) =>
    fetch(`${app.url}${target}`, {
      method,
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body }),
    });

  test.each([
    ['POST', `${path}/_deploy`, '{"id":"bare"}', 'body'],
    ['POST', `${path}/deploy`, '{}', 'body'],
    ['POST', `${path}/_unDeploy`, ' ', 'body'],
    ['DELETE', path, '{}', 'body'],
    ['DELETE', `${path}/tag/a`, '{}', 'body'],
    ['DELETE', `${path}?status=200`, undefined, 'status'],
    ['DELETE', `${path}/tag/a?%7B%22a%22%3A%22b=c%22%7D`, undefined, '{"a":"b'],
  ])('rejects %s %s with the body %s', async (method, target, body, property) => {
    await post('{"id":"bare","name":"B","productId":"p","productName":"P"}');
    const reply = await call(method, target, body);

    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({
      code: 'illegal_argument',
      result: [{ property, message: expect.any(String) }],
    });
    const detail = await call('GET', path);
    expect(await detail.json()).toMatchObject({ result: { state: { value: 'notActive' } } });
  });

  test('succeeds without input', async () => {
    expect((await call('POST', `${path}/_deploy`)).status).toBe(200);
    expect((await call('POST', `${path}/_unDeploy?any=1`)).status).toBe(200);
    expect((await call('DELETE', `${path}?`)).status).toBe(200);
  });
});
