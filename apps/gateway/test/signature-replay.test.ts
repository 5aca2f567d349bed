import { describe, expect, test } from '@jest/globals';
import { bootGateway } from './booted-gateway.ts';
import { send } from './http-client.ts';
import { useSignedCalls } from './signed-calls.ts';

const calls = useSignedCalls();

describe('a repeated signature', () => {
  test('is accepted for the same signed query and rejected for a signed body', async () => {
    const query = { headers: calls.booted.signed({ query: 'a=1' }) };
    const body = { method: 'POST', headers: calls.booted.signed({ body: '{}' }), body: '{}' };

    for (const expected of [200, 200]) {
      expect((await send(calls.booted.port, '/api/device?a=1', query)).status).toBe(expected);
    }
    expect((await send(calls.booted.port, '/device-instance', body)).status).toBe(200);
    calls.booted.upstream.requests.length = 0;
    calls.expectRefused(
      await send(calls.booted.port, '/device-instance', body),
      401,
      'replayed_request',
    );
  });

  test('is rejected for another path after one second, also with hex digits in another case', async () => {
    const headers = calls.booted.signed();
    expect((await send(calls.booted.port, '/api/v1/device/A/_detail', { headers })).status).toBe(
      200,
    );
    calls.booted.upstream.requests.length = 0;
    calls.now += 1001;
    const upper = { ...headers, 'X-Sign': headers['X-Sign']?.toUpperCase() ?? '' };
    for (const again of [headers, upper]) {
      const reply = await send(calls.booted.port, '/api/v1/device/B/_detail', { headers: again });
      calls.expectRefused(reply, 401, 'replayed_request');
    }
  });

  test.each(['POST', 'DELETE', 'HEAD'])('is rejected for the method %s', async (method) => {
    const headers = calls.booted.signed();
    expect((await send(calls.booted.port, '/api/device', { headers })).status).toBe(200);
    calls.booted.upstream.requests.length = 0;

    const reply = await send(calls.booted.port, '/api/device', { method, headers });
    expect(reply.status).toBe(401);
    expect(reply.headers['x-sign']).toBeUndefined();
    expect(calls.booted.upstream.requests).toEqual([]);
  });

  test('is always rejected in the strict profile, like MD5', async () => {
    const strict = await bootGateway({ strict: true });
    await strict.saveClient({ clientId: 'old', signatureAlgorithm: 'MD5' }, strict.secureKey);
    const headers = strict.signed();
    const md5 = strict.signed({ clientId: 'old', algorithm: 'MD5' });

    expect((await send(strict.port, '/api/device', { headers })).status).toBe(200);
    expect((await send(strict.port, '/api/device', { headers })).json.code).toBe(
      'replayed_request',
    );
    expect((await send(strict.port, '/api/device', { headers: md5 })).json.code).toBe(
      'invalid_signature',
    );
    await strict.close();
  });
});
