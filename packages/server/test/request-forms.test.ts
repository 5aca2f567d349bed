import { type IncomingMessage, request as sendRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createMetricsRegistry, type RunningServer, serve } from '../src/index.ts';
import { metricsText } from '../src/telemetry/metric-families.ts';
import { openRawConnection } from './raw-connection.ts';

const registry = createMetricsRegistry();
let server: RunningServer;
let seen: string[] = [];

/** Lists each request as the application sees it. */
function record(request: IncomingMessage): void {
  const { method, url, headers } = request;
  let body = '';
  request.on('data', (chunk: Buffer) => {
    body += chunk.toString();
  });
  request.on('end', () => seen.push(`${method} ${url} ${headers.host} ${body}`.trim()));
}

beforeAll(async () => {
  server = await serve(
    (request, response) => {
      record(request);
      request.on('end', () => response.end('served'));
    },
    { host: '127.0.0.1', port: 0, metrics: registry },
  );
});
afterAll(() => server.close());
beforeEach(() => {
  seen = [];
});

async function exchange(...parts: readonly string[]): Promise<string> {
  const connection = openRawConnection(server.port);
  for (const part of parts) {
    connection.send(part);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return connection.ended();
}

function get(target: string, head = 'Host: listed.example\r\n'): Promise<string> {
  return exchange(`GET ${target} HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
}

describe('a target in absolute form', () => {
  test.each([
    ['http://other.example/a/b?c=d', '/a/b?c=d other.example'],
    ['HTTP://other.example:8080/a', '/a other.example:8080'],
    ['https://other.example/a', '/a other.example'],
    ['http://[::1]:80/a', '/a [::1]:80'],
    ['http://other.example', '/ other.example'],
    ['http://other.example?a=http://b', '/?a=http://b other.example'],
    ['http://other.example/http://third.example/', '/http://third.example/ other.example'],
  ])('%s is path and query, and its authority replaces Host', async (target, expected) => {
    expect(await get(target)).toMatch(/^HTTP\/1\.1 200 /);
    expect(seen).toEqual([`GET ${expected}`]);
  });

  test.each([
    'http://user@other.example/a',
    'http://user:password@other.example/a',
    'http://listed.example@other.example/a',
    'http:///a',
    'http://:80/a',
    'http://other.example:999999/a',
    'http://other.example:65536/a',
    'http://a,b/a',
    'http://[::1/a',
    'http://%6fther.example/a',
    'ftp://other.example/a',
    'file:///etc/passwd',
  ])('%s is rejected and counted, and ends the connection', async (target) => {
    const reply = await exchange(
      `GET ${target} HTTP/1.1\r\nHost: listed.example\r\n\r\n`,
      'GET /later HTTP/1.1\r\nHost: listed.example\r\n\r\n',
    );
    expect(reply).toMatch(/^HTTP\/1\.1 400 .*"illegal_argument"/s);
    expect(reply).toMatch(/\r\nConnection: close\r\n/);
    expect(reply).not.toContain('served');
    expect(seen.filter((line) => !line.includes('/later'))).toEqual([]);
    expect(metricsText(registry.families())).toMatch(
      /malformed_requests_total\{code="illegal_argument"\} [1-9]/,
    );
  });

  test('is rejected without a Host in HTTP/1.1, and replaces a missing one in HTTP/1.0', async () => {
    expect(await get('http://other.example/a', '')).toMatch(/^HTTP\/1\.1 400 .*a Host header/s);
    expect(await exchange('GET http://other.example/a HTTP/1.0\r\n\r\n')).toMatch(/ 200 /);
    expect(seen).toEqual(['GET /a other.example']);
  });
});

test('a request without a Host gets the usual reply of an error, and is counted', async () => {
  const counted = () =>
    Number(
      /malformed_requests_total\{code="illegal_argument"\} (\d+)/.exec(
        metricsText(registry.families()),
      )?.[1],
    );
  const before = counted();
  const reply = await exchange('POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n', '{}');
  expect(reply).toMatch(/^HTTP\/1\.1 400 .*\r\nConnection: close\r\n.*"illegal_argument"/s);
  expect(reply).toContain('A request in HTTP/1.1 needs a Host header.');
  expect([seen, counted() - before]).toEqual([[], 1]);
});

describe('CWE-444 two Host headers', () => {
  test.each([
    ['HTTP/1.1', 'Host: a.example\r\nhOST: b.example'],
    ['HTTP/1.1', 'Host: a.example\r\nHost: a.example'],
    ['HTTP/1.0', 'Host: a.example\r\nX-Name: y\r\nHost: b.example'],
  ])('in %s are rejected, and end the connection', async (version, hosts) => {
    for (const target of ['/a', 'http://other.example/a']) {
      const reply = await exchange(`GET ${target} ${version}\r\n${hosts}\r\n\r\n`);
      expect(reply).toMatch(/^HTTP\/1\.1 400 .*\r\nConnection: close\r\n/s);
      expect(reply).toContain('The Host header was sent twice.');
    }
    expect(seen).toEqual([]);
  });
});

describe('CWE-444 an ignored Upgrade', () => {
  const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n';
  const head = (method: string, more = '') =>
    `${method} /a HTTP/1.1\r\nHost: test\r\n${more}${offer}`;
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n';

  test.each([
    ['no body', [`${head('GET')}\r\n`]],
    ['a body', [`${head('POST', 'Content-Length: 5\r\n')}\r\nhello`]],
    ['a late body', [`${head('POST', 'Content-Length: 5\r\n')}\r\n`, 'he', 'llo']],
    [
      'chunks',
      [`${head('POST', 'Transfer-Encoding: chunked\r\n')}\r\n5\r\n`, 'hello\r\n0\r\n\r\n'],
    ],
    ['a pipelined request', [`${head('GET')}\r\n${smuggled}`]],
    ['a later request', [`${head('GET')}\r\n`, smuggled]],
    ['half a request', [`${head('GET')}\r\nPOST /x HTTP/1.1\r\nX: `, smuggled]],
    ['a preface', [`${head('GET')}\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`]],
    ['a request after a body', [`${head('POST', 'Content-Length: 5\r\n')}\r\nhello${smuggled}`]],
  ])('with %s is served as HTTP/1.1 and ends the connection', async (_name, parts) => {
    const reply = await exchange(...parts);
    expect(reply.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
    expect(reply).toMatch(/\r\nConnection: close\r\n/);
    const body = parts.join('').includes('hello') ? ' hello' : '';
    expect(seen).toEqual([`${parts[0]?.split(' ')[0]} /a test${body}`]);
  });

  test('does not disturb requests before it, nor other connections', async () => {
    const plain = 'GET /before HTTP/1.1\r\nHost: test\r\n\r\n';
    const reply = await exchange(`${plain}${head('GET')}\r\n${smuggled}`);
    expect(reply.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
    expect(seen).toEqual(['GET /before test', 'GET /a test']);
    const status = await new Promise((resolve, reject) => {
      const sending = sendRequest({ port: server.port, host: '127.0.0.1', agent: false }, (next) =>
        resolve(next.resume().statusCode),
      );
      sending.on('error', reject).end();
    });
    expect(status).toBe(200);
  });

  test('CONNECT opens no tunnel', async () => {
    const reply = await exchange(
      `CONNECT evil.example:443 HTTP/1.1\r\nHost: test\r\n\r\n${smuggled}`,
    );
    expect(reply).toBe('');
    expect(seen).toEqual([]);
  });
});
