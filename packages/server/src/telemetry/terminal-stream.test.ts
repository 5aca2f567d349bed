import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import {
  createLogger,
  createRequestLineWriter,
  type RequestLine,
  terminalStream,
} from './logger.ts';

const request = {
  requestId: '0b7c1111',
  method: 'GET',
  status: 200,
  aborted: false,
  durationMs: 3.1,
  upstreamMs: 1.9,
  operation: 'device.list',
  clientId: 'demo',
  credential: 'bearer',
  code: undefined,
  reason: undefined,
  stage: undefined,
};

function printed(log: (logger: ReturnType<typeof createLogger>) => void): readonly string[] {
  const stream = new PassThrough();
  const destination = terminalStream(stream);
  log(createLogger({ app: 'gateway', level: 'info', destination }));
  return String(stream.read()).trimEnd().split('\n');
}

test('a terminal shows a request as one short line', () => {
  const [line = '', ...rest] = printed((logger) => createRequestLineWriter(logger)(request));
  expect(rest).toEqual([]);
  expect(line).toMatch(/^\[[\d:.]+\] INFO: gateway: GET device\.list 200 · 3\.1 ms · demo$/);
});

test('a terminal shows the code, the reason and the id of a rejected request', () => {
  const rejected: RequestLine = {
    ...request,
    status: 401,
    code: 'invalid_signature',
    reason: 'signature_malformed',
    stage: 'authenticate',
  };
  expect(printed((logger) => createRequestLineWriter(logger)(rejected))).toEqual([
    expect.stringMatching(
      / 401 · 3\.1 ms · demo · invalid_signature · signature_malformed · 0b7c1111$/,
    ),
  ]);
});

test('a terminal receives no control characters of a request', () => {
  const controls = '\u001b[2J\u009b2J';
  const [line] = printed((logger) => logger.info({ text: controls }, 'failed'));
  expect(line).toMatch(/failed/);
  expect(line).not.toMatch(/\p{Cc}/u);
});
