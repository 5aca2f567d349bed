import { describe, expect, test } from '@jest/globals';
import { deviceRoutes } from '../src/routes/route.ts';
import { bootGateway } from './booted-gateway.ts';
import { send } from './http-client.ts';
import { useSignedCalls } from './signed-calls.ts';
import { digest } from './test-credentials.ts';

const calls = useSignedCalls();

async function ask(body: string, headers: Record<string, string> = {}) {
  return send(calls.booted.port, '/api/v1/token', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...calls.booted.signed({ body }), ...headers },
    body,
  });
}

async function issue(body = '{"expires": 7200}'): Promise<string> {
  calls.now += 1;
  const { json } = await ask(body);
  calls.booted.keepSecret(json.result);
  return json.result;
}

function present(token: string, headers: Record<string, string> = {}) {
  return send(calls.booted.port, '/api/device', {
    headers: { 'X-Access-Token': token, ...headers },
  });
}

describe('POST /api/v1/token', () => {
  test('answers a signed request with a token, its actual lifetime and a signature', async () => {
    const reply = await ask('{"expires": 600}');

    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      status: 200,
      code: 'success',
      message: 'success',
      expires: 600,
      result: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      timestamp: calls.now,
    });
    calls.booted.keepSecret(reply.json.result);
    const { 'x-sign': sign, 'x-timestamp': timestamp } = reply.headers;
    expect(sign).toBe(digest('SHA-256', reply.body, String(timestamp), calls.booted.secureKey));
    expect((await present(reply.json.result)).status).toBe(200);
    expect(calls.booted.upstream.requests).toHaveLength(1);
  });

  test.each([
    ['{}', 7200],
    ['{"expires":1}', 1],
    ['{ "expires" : 86400 }\n', 86_400],
    ['{"expires":86401}', 86_400],
    ['{"expires":1e18}', 86_400],
    ['{"expires":0}', 86_400],
    ['{"expires":-1}', 86_400],
    ['{"expires":-0}', 86_400],
  ])(
    'AT-01 AT-02 issues a token for the body %s with a lifetime of %d seconds',
    async (body, expires) => {
      const reply = await ask(body);

      expect([reply.status, reply.json.expires]).toEqual([200, expires]);
      calls.booted.keepSecret(reply.json.result);
    },
  );

  test.each([
    '{"expires":1.5}',
    '{"expires":"7200"}',
    '{"expires":null}',
    '{"expires":true}',
    '{"expires":[]}',
    '{"expires":{}}',
    '{"expires":1e999}',
    '[]',
    'null',
    '7200',
    '""',
    '',
    '{"expires":60,"scope":"x"}',
    '{"Expires":60}',
    '{"expires":60,"expires":7200}',
    '{"\\u0065xpires":60}',
    '{"expires":60}x',
    '{"__proto__":{}}',
    '{"expires":NaN}',
    '{"status":200,"code":"success","expires":60}',
  ])('AT-01 rejects the body %s', async (body) => {
    const reply = await ask(body);

    expect([reply.status, reply.json.code]).toEqual([400, 'illegal_argument']);
  });

  test('SG-33 rejects its own signed reply as a request', async () => {
    const reply = await ask('{}');
    calls.booted.keepSecret(reply.json.result);
    const reflected = await send(calls.booted.port, '/api/v1/token', {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'X-Client-Id': 'demo',
        'X-Timestamp': String(reply.headers['x-timestamp']),
        'X-Sign': String(reply.headers['x-sign']),
      },
      body: reply.body,
    });

    expect([reflected.status, reflected.json.code]).toEqual([400, 'ambiguous_request']);
  });

  test('rejects a body of another media type and a body that is too large', async () => {
    const form = await ask('expires=60', { 'Content-Type': 'text/plain' });
    expect([form.status, form.json.code]).toEqual([415, 'unsupported_media_type']);
    const large = await ask(`{"expires":60${' '.repeat(5000)}}`);
    expect([large.status, large.json.code]).toEqual([413, 'payload_too_large']);
  });

  test('AT-06 does not issue a token for a request with a token', async () => {
    const own = await issue();
    const bearer = await calls.booted.issueToken();
    for (const headers of [{ 'X-Access-Token': own }, { Authorization: `Bearer ${bearer}` }]) {
      const reply = await send(calls.booted.port, '/api/v1/token', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: '{}',
      });
      expect([reply.status, reply.json.code]).toEqual([401, 'unauthorized']);
    }
  });

  test('issues no token that a revocation of the client includes', async () => {
    await calls.booted.saveClient({ clientId: 'revoked' }, 'a key of the revoked client');
    await calls.booted.identity.revocations.client('revoked');
    const body = '{}';
    const request = () =>
      send(calls.booted.port, '/api/v1/token', {
        method: 'POST',
        headers: calls.booted.signed({
          body,
          clientId: 'revoked',
          secureKey: 'a key of the revoked client',
        }),
        body,
      });
    calls.now += 100;
    const refused = await request();
    expect([refused.status, refused.json.code, refused.headers['retry-after']]).toEqual([
      503,
      'service_unavailable',
      '2',
    ]);
    calls.now += 2000;
    const { json } = await request();
    calls.booted.keepSecret(json.result);
    expect((await present(json.result)).status).toBe(200);
  });

  test('AT-07 issues no second token for the same request', async () => {
    const first = await ask('{"expires": 60}');
    const second = await ask('{"expires": 60}');

    expect(first.status).toBe(200);
    calls.booted.keepSecret(first.json.result);
    expect([second.status, second.json.code]).toEqual([401, 'replayed_request']);
    expect(second.headers).not.toHaveProperty('x-sign');
  });

  test('accepts only POST', async () => {
    const reply = await send(calls.booted.port, '/api/v1/token', {
      headers: calls.booted.signed(),
    });
    expect([reply.status, reply.headers.allow]).toEqual([405, 'POST, OPTIONS']);
  });
});

describe('X-Access-Token', () => {
  test('AT-03 is accepted in its last second and rejected afterwards', async () => {
    const token = await issue('{"expires": 60}');
    calls.now += 59_000;
    expect((await present(token)).status).toBe(200);
    calls.now += 2_000;
    const late = await present(token);
    expect([late.status, late.json.code, late.json.result?.value]).toEqual([
      401,
      'unauthorized',
      'expired',
    ]);
  });

  test('AT-04 is rejected together with the X-Client-Id of another client', async () => {
    const reply = await present(await issue(), { 'X-Client-Id': 'another' });
    calls.expectRefused(reply, 401, 'missing_signature');
  });

  test('AT-08 is accepted only in X-Access-Token, and an OAuth access token only in Authorization', async () => {
    const own = await issue();
    const bearer = await calls.booted.issueToken();
    for (const reply of [
      await send(calls.booted.port, '/api/device', { headers: { Authorization: `Bearer ${own}` } }),
      await send(calls.booted.port, `/api/device?access_token=${own}`),
      await present(bearer),
    ]) {
      calls.expectRefused(reply, 401, 'unauthorized');
    }
  });

  test.each([
    ['empty', ''],
    ['a space', 'a b'],
    ['two', 'T1, T2'],
    ['8 KB', 'a'.repeat(8192)],
    ['other characters', 'tökén'],
    ['__proto__', '__proto__'],
  ])('AT-09 is rejected if it is malformed: %s', async (_name, token) => {
    const reply = await present(Buffer.from(token, 'utf8').toString('latin1'));
    expect([400, 401]).toContain(reply.status);
    expect(calls.booted.upstream.requests).toEqual([]);
  });

  test('AT-09 is rejected if it is sent twice', async () => {
    const token = await issue();
    const reply = await send(calls.booted.port, '/api/device', {
      headers: ['X-Access-Token', token, 'X-Access-Token', token],
    });
    calls.expectRefused(reply, 400, 'multiple_credentials');
  });

  test('is not forwarded, and its reply is not signed', async () => {
    const token = await issue();
    const reply = await present(token);
    expect(reply.headers).not.toHaveProperty('x-sign');
    expect(JSON.stringify(calls.booted.upstream.last().rawHeaders)).not.toContain(token);
  });

  test('is accepted only from the allowed addresses of its client', async () => {
    await calls.booted.saveClient({ clientId: 'elsewhere' }, 'a key of the other client');
    const body = '{}';
    const signing = { body, clientId: 'elsewhere', secureKey: 'a key of the other client' };
    const { json } = await send(calls.booted.port, '/api/v1/token', {
      method: 'POST',
      headers: calls.booted.signed(signing),
      body,
    });
    calls.booted.keepSecret(json.result);
    expect((await present(json.result)).status).toBe(200);
    await calls.booted.saveClient({ clientId: 'elsewhere', ipAllowList: ['192.0.2.1'] });
    calls.now += 100;
    calls.booted.upstream.requests.length = 0;
    calls.expectRefused(await present(json.result), 403, 'access_denied');
  });
});

test('A route without an upstream or an operation of the gateway answers 500, and the log names it.', async () => {
  const route = deviceRoutes.at(-1);
  const gateway = await bootGateway({
    routes:
      route === undefined ? [] : [{ ...route, operation: 'missing', credentials: ['bearer'] }],
  });
  try {
    const reply = await send(gateway.port, '/api/v1/token', {
      method: 'POST',
      headers: { Authorization: `Bearer ${await gateway.issueToken()}` },
    });
    expect([reply.status, reply.json.code]).toEqual([500, 'internal_server_error']);
    expect(gateway.log()).toContain(
      'The route missing has neither an upstream nor a local operation.',
    );
  } finally {
    await gateway.close();
  }
});
