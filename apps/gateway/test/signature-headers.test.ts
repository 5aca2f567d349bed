import { parseTimestamp } from '@gatehouse/signing';
import { describe, expect, test } from '@jest/globals';
import { send } from './http-client.ts';
import { useSignedCalls } from './signed-calls.ts';

const calls = useSignedCalls();

describe('the signature headers', () => {
  test.each([
    '',
    'a'.repeat(31),
    'a'.repeat(33),
    'a'.repeat(64),
    'null',
    '0x12',
    'q83v/u3+EjRWeA==',
    'a b',
    '\xff'.repeat(64),
  ])('are rejected with 401 for X-Sign %p', async (sign) => {
    const reply = await calls.get('a=1', {}, { 'X-Sign': sign });

    expect(reply.status).toBe(401);
    expect(['invalid_signature', 'missing_signature']).toContain(reply.json.code);
    expect(calls.booted.upstream.requests).toEqual([]);
  });

  test('may spell X-Sign in any case', async () => {
    const headers = calls.booted.signed({ query: 'a=1' });
    const reply = await send(calls.booted.port, '/api/device?a=1', {
      headers: { ...headers, 'X-Sign': headers['X-Sign']?.toUpperCase() ?? '' },
    });
    expect(reply.status).toBe(200);
  });

  test.each([
    'abc',
    '-1',
    '1.5e12',
    '+1574993804802',
    '0x16eb9e5b5c2',
    '1574993804',
    '1574993804802000',
    'Infinity',
    '15749938 4802',
  ])('are rejected for X-Timestamp %p', async (timestamp) => {
    calls.expectRefused(await calls.get('a=1', { timestamp }), 401, 'timestamp_out_of_range');
    expect(calls.booted.logLines().at(-1)?.reason).toBe(
      parseTimestamp(timestamp) === undefined ? 'timestamp_malformed' : 'timestamp_out_of_range',
    );
  });

  test.each(['X-Sign', 'X-Timestamp', 'X-Client-Id'])(
    'are all required: without %s the signature is missing',
    async (name) => {
      const { [name]: _left, ...others } = calls.booted.signed();
      const reply = await send(calls.booted.port, '/api/device', { headers: others });

      calls.expectRefused(reply, 401, 'missing_signature');
    },
  );

  test('are rejected at 300.1 s and accepted at 299.9 s in both directions', async () => {
    for (const offset of [-299_900, 299_900]) {
      expect((await calls.get('a=1', { timestamp: String(calls.now + offset) })).status).toBe(200);
    }
    calls.booted.upstream.requests.length = 0;
    for (const offset of [-300_100, 300_100]) {
      const reply = await calls.get('a=1', { timestamp: String(calls.now + offset) });
      calls.expectRefused(reply, 401, 'timestamp_out_of_range');
    }
  });

  test.each(['X-Sign', 'X-Timestamp', 'X-Client-Id'])(
    'are rejected if %s is sent twice',
    async (name) => {
      const headers = Object.entries(calls.booted.signed()).flat();
      const value = headers[headers.indexOf(name) + 1] ?? '';
      const reply = await send(calls.booted.port, '/api/device', {
        headers: [...headers, name, value],
      });

      calls.expectRefused(reply, 400, 'ambiguous_request');
    },
  );

  test.each(['__proto__', 'constructor', '*', 'client:demo', 'a b', 'é', 'x'.repeat(10_000)])(
    'are rejected for %p as for any unknown client id',
    async (clientId) => {
      const headers = {
        ...calls.booted.signed(),
        'X-Client-Id': Buffer.from(clientId).toString('latin1'),
      };
      const reply = await send(calls.booted.port, '/api/device', { headers });

      calls.expectRefused(reply, 401, 'invalid_signature');
    },
  );

  test('get the same reply for an unknown client, a disabled one and a wrong signature', async () => {
    await calls.booted.saveClient({ clientId: 'disabled', enabled: false }, calls.booted.secureKey);
    const replies = [
      await calls.get('a=1', { clientId: 'nobody' }),
      await calls.get('a=1', { clientId: 'disabled' }),
      await calls.get('a=1', { secureKey: 'another key' }),
    ];
    for (const reply of replies) {
      calls.expectRefused(reply, 401, 'invalid_signature');
      expect(reply.json).toEqual({ ...replies[0]?.json, timestamp: calls.now });
    }
  });

  test('are rejected with MD5 for a client that uses SHA-256', async () => {
    calls.expectRefused(await calls.get('a=1', { algorithm: 'MD5' }), 401, 'invalid_signature');
  });

  test('may use each active key of a client', async () => {
    await calls.booted.saveClient({ clientId: 'rotating' }, 'the first secure key');
    await calls.booted.saveClient({ clientId: 'rotating' }, 'the second secure key');
    for (const secureKey of ['the first secure key', 'the second secure key']) {
      expect((await calls.get('a=1', { clientId: 'rotating', secureKey })).status).toBe(200);
    }
  });

  test('are rejected from an address outside the allowlist of the client', async () => {
    await calls.booted.saveClient(
      { clientId: 'inside', ipAllowList: ['127.0.0.0/8'] },
      calls.booted.secureKey,
    );
    await calls.booted.saveClient(
      { clientId: 'outside', ipAllowList: ['192.0.2.1'] },
      calls.booted.secureKey,
    );

    expect((await calls.get('a=1', { clientId: 'inside' })).status).toBe(200);
    calls.booted.upstream.requests.length = 0;
    calls.expectRefused(await calls.get('a=1', { clientId: 'outside' }), 403, 'access_denied');
  });
});
