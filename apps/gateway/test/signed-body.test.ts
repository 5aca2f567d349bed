import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { send } from './http-client.ts';
import { useSignedCalls } from './signed-calls.ts';

const calls = useSignedCalls();
const lastReason = () => calls.booted.logLines().at(-1)?.reason;

describe('a signed body', () => {
  const json = '{\n  "id": "1",\r\n  "name": "中"\n}\n';

  test('reaches the service unchanged', async () => {
    expect((await calls.post(json)).status).toBe(200);
    expect(calls.booted.upstream.last().body.equals(Buffer.from(json))).toBe(true);
    expect(calls.booted.upstream.last().headers['content-type']).toBe('application/json');
  });

  test.each([
    ['white space', json.replace('  ', ' ')],
    ['line ends', json.replace('\r\n', '\n')],
    ['the last newline', json.trimEnd()],
    ['an escape', json.replace('中', '\\u4e2d')],
  ])('is rejected after a change of %s', async (_name, sent) => {
    calls.expectRefused(await calls.post(json, sent), 401, 'invalid_signature');
  });

  test('cannot be combined with a query', async () => {
    const reply = await send(calls.booted.port, '/device-instance?a=1', {
      method: 'POST',
      headers: calls.booted.signed({ body: json }),
      body: json,
    });
    calls.expectRefused(reply, 400, 'ambiguous_request');
    expect(lastReason()).toBe('query_with_signed_body');
  });

  test('cannot be compressed', async () => {
    const reply = await send(calls.booted.port, '/device-instance', {
      method: 'POST',
      headers: { ...calls.booted.signed({ body: json }), 'Content-Encoding': 'gzip' },
      body: json,
    });
    calls.expectRefused(reply, 415, 'unsupported_media_type');
  });

  test('may arrive in any pieces', async () => {
    const bytes = [...Buffer.from(json)].map((byte) => Buffer.from([byte]));

    expect((await calls.post(json, bytes)).status).toBe(200);
    expect(calls.booted.upstream.last().body.toString()).toBe(json);
  });

  test.each([
    ['a byte order mark', Buffer.from(`\uFEFF${json}`), 'body_not_utf8'],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'body_not_utf8'],
    ['half a character', Buffer.from('中').subarray(0, 2), 'body_not_utf8'],
  ])('cannot have %s', async (_name, body, reason) => {
    calls.expectRefused(await calls.post(body), 400, 'ambiguous_request');
    expect(lastReason()).toBe(reason);
  });

  test('of a form signs sorted parameters and is forwarded as parsed', async () => {
    const form = 'b=2&a=1&a=x+y';
    const reply = await send(calls.booted.port, '/device-instance', {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded; charset=UTF-8',
        ...calls.booted.signed({ body: 'a=1,x y&b=2' }),
      },
      body: form,
    });

    expect(reply.status).toBe(200);
    expect(calls.booted.upstream.last().body.toString()).toBe('a=1%2Cx%20y&b=2');
  });

  test.each(['Content-Length', 'chunked'])(
    'that is too large is rejected at the limit (%s)',
    async (framing) => {
      const body = Buffer.alloc(1024 * 1024 + 1, 'a');
      const signed = calls.booted.signed({ body });
      const reply = await send(calls.booted.port, '/device-instance', {
        method: 'POST',
        headers:
          framing === 'chunked'
            ? { ...signed, 'Transfer-Encoding': 'chunked' }
            : { ...signed, 'Content-Length': String(body.length) },
        body,
      });
      calls.expectRefused(reply, 413, 'payload_too_large');
      expect(reply.headers.connection).toBe('close');
    },
  );

  test('with a Content-Length above the limit is rejected before it is sent', async () => {
    const signed = Object.entries(calls.booted.signed({ body: '' })).map((pair) => pair.join(': '));
    const reply = await new Promise<string>((resolve, reject) => {
      const socket = connect(calls.booted.port, '127.0.0.1');
      socket.once('data', (data) => {
        socket.destroy();
        resolve(data.toString());
      });
      socket.once('error', reject);
      socket.write(
        `POST /device-instance HTTP/1.1\r\nHost: gateway\r\n${signed.join('\r\n')}\r\n` +
          'Content-Length: 100000000\r\n\r\n',
      );
    });
    expect(reply).toMatch(/^HTTP\/1.1 413 /);
  });
});
