/** Which requests of a real server reach the request log, and with which members. */
import {
  createServer,
  get,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { listen, until } from '@gatehouse/testing';
import { afterEach, expect, test } from '@jest/globals';
import { createLogger, observedRequest, observeRequests } from '../src/index.ts';
import { createRequestRecorder, type RecordedRequest } from '../src/requests/request-records.ts';
import { trackConnections } from '../src/server/connections.ts';
import {
  createClientErrorHandler,
  createMalformedInputReporter,
} from '../src/server/malformed-input.ts';
import { openRawConnection } from './raw-connection.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serveRecorded(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ readonly url: string; readonly recorded: RecordedRequest[] }> {
  const recorded: RecordedRequest[] = [];
  const { observe } = createRequestRecorder({
    app: 'test',
    addressGroupOf: () => '192.0.2.1',
    record: (request) => recorded.push(request),
  });
  const logger = createLogger({ app: 'test', level: 'silent' });
  const server = createServer(observeRequests(answer, logger, { observer: observe }));
  servers.push(server);
  return { url: `http://127.0.0.1:${await listen(server)}/`, recorded };
}

/** Leaves when the reply starts. */
function leave(url: string): void {
  const request = get(url);
  request.on('error', () => {});
  request.on('response', () => request.destroy());
}

test('every failure is recorded, and about one in 100 successes', async () => {
  const { url, recorded } = await serveRecorded((request, response) => {
    response.statusCode = request.url === '/failure' ? 400 : 200;
    response.end();
  });
  const connection = openRawConnection(Number(new URL(url).port));
  const successful = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n'.repeat(1999);
  connection.send(`${successful}GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n`);
  expect((await connection.ended()).match(/HTTP\/1\.1 200 /g)).toHaveLength(2000);
  const successes = recorded.length;
  expect(successes).toBeGreaterThan(5);
  expect(successes).toBeLessThan(60);
  for (let i = 0; i < 20; i += 1) {
    await fetch(`${url}failure`).then((each) => each.text());
  }
  const failures = () => recorded.filter(({ reason }) => reason !== undefined);
  await until(async () => failures().length === 20);
  expect(failures()[0]).toMatchObject({ status: 400, reason: 'unclassified', verified: false });
});

test('notes that complete after the reply are recorded, and delay no reply', async () => {
  let complete = () => {};
  const { url, recorded } = await serveRecorded((request, response) => {
    const observed = observedRequest(request);
    observed.notes.code = 'invalid_signature';
    observed.completing = new Promise<void>((resolve) => {
      complete = resolve;
    }).then(() => {
      observed.notes.clientId = 'found-later';
    });
    response.statusCode = 401;
    response.end();
  });
  expect((await fetch(url)).status).toBe(401);
  expect(recorded).toEqual([]);
  complete();
  await until(async () => recorded.length === 1);
  expect(recorded[0]).toMatchObject({ clientId: 'found-later', verified: false });
});

test('a caller that leaves is a failure, unless the reply is an open stream', async () => {
  let closed = 0;
  const { url, recorded } = await serveRecorded((request, response) => {
    response.on('close', () => {
      closed += 1;
    });
    observedRequest(request).notes.isOpenEnded = request.url !== '/part';
    if (request.url === '/silent') {
      request.socket.destroy();
    } else {
      response.writeHead(200);
      response.write('a part');
    }
  });
  for (const path of ['silent', 'part', 'stream']) {
    leave(url + path);
  }
  await until(async () => closed === 3);
  const left = recorded.filter(({ reason }) => reason === 'caller_left');
  expect(new Set(left.map(({ status }) => status))).toEqual(new Set([undefined, 200]));
  expect(left).toHaveLength(2);
});

test('a body that does not arrive in time is one failure, with the reason of the server', async () => {
  const recorded: RecordedRequest[] = [];
  const { observe, recordMalformed } = createRequestRecorder({
    app: 'test',
    addressGroupOf: () => '192.0.2.1',
    record: (request) => recorded.push(request),
  });
  const logger = createLogger({ app: 'test', level: 'silent' });
  const server = createServer({ requestTimeout: 100, connectionsCheckingInterval: 20 });
  servers.push(server);
  server.on(
    'clientError',
    createClientErrorHandler(
      trackConnections(server),
      createMalformedInputReporter({ count: undefined, logger, record: recordMalformed }),
    ),
  );
  server.on(
    'request',
    observeRequests((request) => request.resume(), logger, { observer: observe }),
  );
  const connection = openRawConnection(await listen(server));
  connection.send('POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nab');
  expect(await connection.ended()).toMatch(/^HTTP\/1\.1 408 /);
  await until(async () => recorded.length > 0);
  expect(recorded).toMatchObject([{ code: 'request_timeout', reason: 'request_timeout' }]);
});
