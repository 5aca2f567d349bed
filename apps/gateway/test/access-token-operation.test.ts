import { describe, expect, test } from '@jest/globals';
import type { Received } from './http-client.ts';
import { bootClockedGateway, expectRefused } from './suite-gateway.ts';
import { digest, type Signing } from './test-credentials.ts';

const gateway = await bootClockedGateway();

async function ask(body: string, headers: Record<string, string> = {}, signing: Signing = {}) {
  const signed = gateway.signed({ body, ...signing });
  const reply = await gateway.send('/api/v1/token', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...signed, ...headers },
    body,
  });
  if (reply.status === 200) {
    gateway.keepSecret(reply.json.result);
  }
  return reply;
}

async function issue(body = '{"expires": 7200}'): Promise<string> {
  gateway.clock.now += 1;
  return (await ask(body)).json.result;
}

const present = (token: string, headers: Record<string, string> = {}) =>
  gateway.send('/api/device', { headers: { 'X-Access-Token': token, ...headers } });
const outcome = ({ status, json }: Received) => [status, json.code];

describe('POST /api/v1/token', () => {
  test('answers a signed request with a token, its actual lifetime and a signature', async () => {
    const reply = await ask('{"expires": 600}');

    expect(reply.json).toEqual({
      status: 200,
      code: 'success',
      message: 'success',
      expires: 600,
      result: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      timestamp: gateway.clock.now,
    });
    const { 'x-sign': sign, 'x-timestamp': timestamp } = reply.headers;
    expect(sign).toBe(digest('SHA-256', reply.body, String(timestamp), gateway.secureKey));
    expect((await present(reply.json.result)).status).toBe(200);
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
  ])('issues a token for the body %s with a lifetime of %d seconds', async (body, expires) => {
    const { status, json } = await ask(body);
    expect([status, json.expires]).toEqual([200, expires]);
  });

  test.each([
    ...['{"expires":1.5}', '{"expires":"7200"}', '{"expires":null}', '{"expires":true}'],
    ...['{"expires":[]}', '{"expires":{}}', '{"expires":1e999}', '{"expires":NaN}'],
    ...['[]', 'null', '7200', '""', '', '{"expires":60,"scope":"x"}', '{"Expires":60}'],
    ...['{"expires":60,"expires":7200}', '{"\\u0065xpires":60}', '{"expires":60}x'],
    ...['{"__proto__":{}}', '{"status":200,"code":"success","expires":60}'],
  ])('rejects the body %s', async (body) => {
    expect(outcome(await ask(body))).toEqual([400, 'illegal_argument']);
  });

  test('rejects a body of another media type and a body that is too large', async () => {
    const form = await ask('expires=60', { 'Content-Type': 'text/plain' });
    expect(outcome(form)).toEqual([415, 'unsupported_media_type']);
    const large = await ask(`{"expires":60${' '.repeat(5000)}}`);
    expect(outcome(large)).toEqual([413, 'payload_too_large']);
  });

  test('issues no token for a request with a token', async () => {
    for (const headers of [{ 'X-Access-Token': await issue() }, await gateway.bearer()]) {
      const sent = { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' } };
      const reply = await gateway.send('/api/v1/token', { ...sent, body: '{}' });
      expect(outcome(reply)).toEqual([401, 'unauthorized']);
    }
  });

  test('issues no token that a revocation of the client includes', async () => {
    const signing = { clientId: 'revoked', secureKey: 'a key of the revoked client' };
    await gateway.saveClient({ clientId: 'revoked' }, signing.secureKey);
    await gateway.identity.revocations.client('revoked');
    gateway.clock.now += 100;
    const refused = await ask('{}', {}, signing);
    expect(outcome(refused)).toEqual([503, 'service_unavailable']);
    expect(refused.headers['retry-after']).toBe('2');
    gateway.clock.now += 2000;
    const { json } = await ask('{}', {}, signing);
    expect((await present(json.result)).status).toBe(200);
  });

  test('issues no second token for the same request', async () => {
    expect((await ask('{"expires": 60}')).status).toBe(200);
    const second = await ask('{"expires": 60}');
    expect(outcome(second)).toEqual([401, 'replayed_request']);
    expect(second.headers).not.toHaveProperty('x-sign');
  });

  test('accepts only POST', async () => {
    const reply = await gateway.send('/api/v1/token', { headers: gateway.signed() });
    expect([reply.status, reply.headers.allow]).toEqual([405, 'POST, OPTIONS']);
  });
});

describe('X-Access-Token', () => {
  test('is accepted in its last second and rejected afterwards', async () => {
    const token = await issue('{"expires": 60}');
    gateway.clock.now += 59_000;
    expect((await present(token)).status).toBe(200);
    gateway.clock.now += 2_000;
    const late = await present(token);
    expect([...outcome(late), late.json.result?.value]).toEqual([401, 'unauthorized', 'expired']);
  });

  test('is rejected together with the X-Client-Id of another client', async () => {
    const reply = await present(await issue(), { 'X-Client-Id': 'another' });
    expectRefused(gateway, reply, 401, 'missing_signature');
  });

  test.each(['', 'a b', 'T1, T2', 'a'.repeat(8192), 'tökén', '__proto__'])(
    'is rejected if it is malformed: %.20j',
    async (token) => {
      const reply = await present(Buffer.from(token, 'utf8').toString('latin1'));
      expect([400, 401]).toContain(reply.status);
      expect(gateway.upstream.requests).toEqual([]);
    },
  );

  test('is not forwarded, and its reply is not signed', async () => {
    const token = await issue();
    expect((await present(token)).headers).not.toHaveProperty('x-sign');
    expect(JSON.stringify(gateway.upstream.last().rawHeaders)).not.toContain(token);
  });

  test('is accepted only from the allowed addresses of its client', async () => {
    const signing = { clientId: 'elsewhere', secureKey: 'a key of the other client' };
    await gateway.saveClient({ clientId: 'elsewhere' }, signing.secureKey);
    const token = (await ask('{}', {}, signing)).json.result;
    expect((await present(token)).status).toBe(200);
    await gateway.saveClient({ clientId: 'elsewhere', ipAllowList: ['192.0.2.1'] });
    gateway.clock.now += 100;
    gateway.upstream.requests.length = 0;
    expectRefused(gateway, await present(token), 403, 'access_denied');
  });
});
