import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { requestId } from './observed-request.ts';

const requestWith = (id: string | undefined) =>
  ({ headers: { 'x-request-id': id } }) as unknown as IncomingMessage;

test.each(['trace-01', 'trace.0123_45-AB', 'x'.repeat(64)])(
  'the id %s of a client is kept',
  (id) => {
    expect(requestId(requestWith(id))).toBe(id);
  },
);

test.each([
  undefined,
  '',
  'short',
  'x'.repeat(65),
  'two words',
  '"},{"level":"info"',
  '\u001b[31mred-text',
  'one-line\r\n Set-Cookie: a',
  'ümläute-id',
  '１２３４５６７８９',
  // Node joins repeated headers.
  'one-of-two, two-of-two',
])('the id %j is replaced by a random one', (id) => {
  expect(requestId(requestWith(id))).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
});
