import { describe, expect, test } from '@jest/globals';
import { send } from './http-client.ts';
import { useSignedCalls } from './signed-calls.ts';

const calls = useSignedCalls();

describe('a signed query', () => {
  test('is sorted by bytes', async () => {
    const keys = ['a', 'B', 'b', 'A', '_', 'a1', 'a10', 'a2', 'é', 'Z', '~', '[', '中'];
    const query = keys.map((key) => `${encodeURIComponent(key)}=1`).join('&');
    const canonical = 'A=1&B=1&Z=1&[=1&_=1&a=1&a1=1&a10=1&a2=1&b=1&~=1&é=1&中=1';
    const byLocale = [...keys].sort((left, right) => left.localeCompare(right));

    expect((await calls.get(query, { body: canonical })).status).toBe(200);
    calls.now += 1;
    calls.booted.upstream.requests.length = 0;
    calls.expectRefused(
      await calls.get(query, { body: byLocale.map((key) => `${key}=1`).join('&') }),
      401,
      'invalid_signature',
    );
  });

  test.each(['a=1,2', 'a=1%2C2'])(
    'that is %p and signed as a=1&a=2 reaches the service with one meaning',
    async (query) => {
      expect((await calls.get(query, { body: 'a=1,2' })).status).toBe(200);
      expect(calls.booted.upstream.last().url).toBe('/api/device?a=1%2C2');
    },
  );

  test.each(['a=1%26b%3D2', 'a=1%26b=2'])('cannot be %p', async (query) => {
    calls.expectRefused(await calls.get(query, { body: 'a=1&b=2' }), 400, 'ambiguous_request');
  });

  test('cannot exchange a digit with the timestamp', async () => {
    const timestamp = String(calls.now);
    const headers = calls.booted.signed({ query: 'pageSize=20', timestamp });
    const lent = await send(calls.booted.port, '/api/device?pageSize=2', {
      headers: { ...headers, 'X-Timestamp': `0${timestamp}` },
    });
    const borrowed = await send(calls.booted.port, `/api/device?pageSize=20${timestamp[0]}`, {
      headers: { ...headers, 'X-Timestamp': timestamp.slice(1) },
    });

    calls.expectRefused(lent, 401, 'timestamp_out_of_range');
    calls.expectRefused(borrowed, 401, 'timestamp_out_of_range');
    expect(lent.json.result).toMatchObject({ serverTime: calls.now });
  });

  test.each(['a=%zz', 'a=%c0%ae', 'a=%00', 'a=%', '=1'])('cannot be %p', async (query) => {
    calls.expectRefused(await calls.get(query, { body: '' }), 400, 'ambiguous_request');
  });

  test.each(['', '?', '?&&'])('is an empty text for %p', async (query) => {
    const reply = await send(calls.booted.port, `/api/device${query}`, {
      headers: calls.booted.signed(),
    });

    expect(reply.status).toBe(200);
    expect(calls.booted.upstream.last().url).toBe('/api/device');
  });

  test('cannot be combined with a body', async () => {
    const reply = await send(calls.booted.port, '/api/device', {
      headers: { ...calls.booted.signed(), 'Content-Length': '2' },
      body: '{}',
    });
    calls.expectRefused(reply, 400, 'ambiguous_request');
    expect(reply.headers.connection).toBe('close');
  });

  test('of a HEAD request has a reply without a body, which is not signed', async () => {
    const reply = await send(calls.booted.port, '/api/device', {
      method: 'HEAD',
      headers: calls.booted.signed(),
    });
    expect(reply.status).toBe(200);
    expect(reply.headers['x-sign']).toBeUndefined();
    expect(calls.booted.upstream.last().method).toBe('HEAD');
  });
});
