import { createServer } from 'node:http';
import { listenForTests } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';
import { createMetricsRegistry } from '../src/index.ts';
import { addServerMetrics, trackConnections } from '../src/server/connections.ts';
import { createClientErrorHandler, type MalformedInput } from '../src/server/malformed-input.ts';
import { metricsText } from '../src/telemetry/metric-families.ts';
import { openRawConnection } from './raw-connection.ts';

const registry = createMetricsRegistry();
const reported: MalformedInput[] = [];
/** A server like that of `serve`, with short timeouts. */
const server = createServer({
  headersTimeout: 200,
  requestTimeout: 400,
  connectionsCheckingInterval: 50,
  maxHeaderSize: 1024,
});
const connections = trackConnections(server);
const count = addServerMetrics(registry, server, connections);
server.on(
  'clientError',
  createClientErrorHandler(connections, (input) => {
    count(input.error.code);
    reported.push(input);
  }),
);
server.on('request', (request) => request.resume());
const port = await listenForTests(server);

test.each([
  ['headers that do not end', 'GET / HTTP/1.1\r\nHost: test\r\n', 408, 'request_timeout'],
  [
    'a body that does not end',
    'POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nab',
    408,
    'request_timeout',
  ],
  [
    'headers that are too large',
    `GET / HTTP/1.1\r\nHost: test\r\nX: ${'x'.repeat(2000)}\r\n\r\n`,
    431,
    'headers_too_large',
  ],
  ['input that is not HTTP', 'HELLO\r\n\r\n', 400, 'illegal_argument'],
])(
  '%s: the reply has the expected status and code, and is counted',
  async (_name, bytes, status, code) => {
    const counted = () =>
      Number(
        new RegExp(`requests_total\\{code="${code}"\\} (\\d+)`).exec(
          metricsText(registry.families()),
        )?.[1] ?? 0,
      );
    const before = counted();
    const connection = openRawConnection(port);
    connection.send(bytes);
    const reply = await connection.ended();
    expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(reply).toContain(`"code":"${code}"`);
    expect(reply).toMatch(/\r\nConnection: close\r\n/);
    expect(counted()).toBe(before + 1);
    expect(reported.at(-1)).toMatchObject({ error: { status, code } });
    expect(reply).toContain(`X-Request-Id: ${reported.at(-1)?.requestId}\r\n`);
  },
);
