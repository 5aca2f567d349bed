import { describe, expect, test } from '@jest/globals';
import { publicUrl } from './booted-gateway.ts';
import type { Received, Sent } from './http-client.ts';
import { bootClockedGateway, expectRefused, openGateway } from './suite-gateway.ts';
import { digest, type Signing } from './test-credentials.ts';

/** Every challenge contains the URL of the resource metadata (RFC 9728 §5.1). */
const metadata = `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource"`;

const gateway = await bootClockedGateway();
const token = await gateway.issueToken();
const authorization = { Authorization: `Bearer ${token}` };

const get = (path: string, headers: NonNullable<Sent['headers']> = {}) =>
  gateway.send(path, { headers });
const outcome = ({ status, json }: Received) => [status, json.code];

describe('an access token', () => {
  test.each(['Bearer', 'bearer', 'BEARER'])('is accepted with the scheme %s', async (scheme) => {
    const reply = await get('/api/device', { Authorization: `${scheme} ${token}` });
    expect([reply.status, reply.json]).toEqual([200, { status: 200, result: [] }]);
  });

  test.each([
    [`pageSize=2&access_token=${token}&pageIndex=0`, '/api/device?pageSize=2&pageIndex=0'],
    [`%61ccess%5Ftoken=${token}`, '/api/device'],
  ])('is accepted in the query %.20s, which is forwarded without it', async (query, forwarded) => {
    const reply = await get(`/api/device?${query}`);

    expect(reply.status).toBe(200);
    expect(gateway.upstream.last().url).toBe(forwarded);
    expect(JSON.stringify(gateway.upstream.last().headers)).not.toContain(token);
    expect(JSON.stringify(reply.headers)).not.toContain(token);
  });

  test('in the query is rejected in the strict profile', async () => {
    const strict = await openGateway({ strict: true });
    const own = await strict.issueToken();
    const inQuery = await strict.send(`/api/device?access_token=${own}`);
    expect([inQuery.status, inQuery.json.result.cause]).toEqual([401, 'token_in_query']);
    const headers = { Authorization: `Bearer ${own}` };
    expect((await strict.send('/api/device', { headers })).status).toBe(200);
  });

  test.each([
    ['two spaces', `Bearer  ${token}`],
    ['a tab', `Bearer\t${token}`],
    ['a second word', `Bearer ${token} x`],
    ['a list', `Bearer ${token}, Bearer ${token}`],
    ['nothing', 'Bearer'],
    ['null', 'Bearer null'],
    ['8 KB', `Bearer ${'a'.repeat(8192)}`],
    ['invalid characters', `Bearer ${token}"`],
  ])('is rejected if the header has %s', async (_name, value) => {
    const reply = await get('/api/device', { Authorization: value });

    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toBe(
      `Bearer realm="gatehouse", error="invalid_token", ${metadata}`,
    );
    expect(gateway.upstream.requests).toEqual([]);
  });

  test.each([
    ['has no credential', {}],
    ['uses another scheme', { Authorization: 'Basic ZGVtbzp4' }],
    ['has a token in a cookie', { Cookie: `access_token=${token}` }],
  ])('is requested without an error if the request %s', async (_name, headers) => {
    const reply = await get('/api/device', headers);

    expect(outcome(reply)).toEqual([401, 'unauthorized']);
    expect(reply.headers).toMatchObject({
      'www-authenticate': `Bearer realm="gatehouse", ${metadata}`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  });

  test('is ignored in a form body', async () => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const body = `access_token=${token}`;
    const reply = await gateway.send('/device-instance', { method: 'POST', headers, body });
    expect(reply.status).toBe(401);
  });

  test('is rejected with the name of the missing scope', async () => {
    const reply = await get('/api/device', await gateway.bearer({ scope: 'device:write openid' }));

    expect(outcome(reply)).toEqual([403, 'access_denied']);
    expect(reply.headers['www-authenticate']).toBe(
      `Bearer realm="gatehouse", error="insufficient_scope", scope="device:read", ${metadata}`,
    );
    expect(gateway.upstream.requests).toEqual([]);
  });

  test.each(['not json', '{}', '[]', 'null', '{"kind":"AccessToken","clientId":"demo"}'])(
    'is rejected if its record is damaged: %s',
    async (record) => {
      const damaged = await gateway.issueToken();
      const { store, credentialHash } = gateway.identity;
      await store.set(`token:${credentialHash(damaged)}`, record);

      const reply = await get('/api/device', { Authorization: `Bearer ${damaged}` });
      expect([401, 503]).toContain(reply.status);
    },
  );
});

describe('more than one credential', () => {
  const kinds = ['signature', 'signature V2', 'X-Access-Token', 'bearer', 'query'] as const;
  const pairs = kinds.flatMap((first, index) =>
    kinds.slice(index + 1).map((second) => [first, second] as const),
  );

  test.each(pairs)('is rejected: %s with %s, even if both are good', async (...pair) => {
    const has = (kind: (typeof kinds)[number]) => pair.includes(kind);
    const query = has('query') ? `access_token=${token}` : '';
    const reply = await get(`/api/device?${query}`, {
      ...(has('signature') && gateway.signed({ query })),
      ...(has('signature V2') && gateway.signedV2({ query })),
      ...(has('X-Access-Token') && { 'X-Access-Token': 'any' }),
      ...(has('bearer') && authorization),
    });

    expect(outcome(reply)).toEqual([400, 'multiple_credentials']);
    expect(reply.headers['www-authenticate']).toContain('error="invalid_request"');
    expect(gateway.upstream.requests).toEqual([]);
  });

  test.each([
    ['Authorization', `Bearer ${token}`],
    ['X-Access-Token', token],
  ])('is rejected: two %s headers, which Node would drop or join', async (name, value) => {
    const reply = await get('/api/device', [name, value, name.toLowerCase(), value]);
    expect(outcome(reply)).toEqual([400, 'multiple_credentials']);
    expect(reply.json.message).toContain(`${name} twice`);
  });

  test('is rejected: two access_token parameters', async () => {
    const reply = await get(`/api/device?access_token=${token}&access_token=${token}`);
    expect(outcome(reply)).toEqual([400, 'multiple_credentials']);
  });

  test('is listed in the reply', async () => {
    const headers = { ...authorization, 'X-Access-Token': 'y' };
    expect((await get('/api/device?access_token=z', headers)).json.message).toContain(
      'X-Access-Token, Authorization and access_token in the query',
    );
  });

  test('is a missing signature if it is a token with only X-Client-Id', async () => {
    const reply = await get('/api/device', { ...authorization, 'X-Client-Id': 'demo' });
    expect(outcome(reply)).toEqual([401, 'missing_signature']);
    expect(reply.json.message).toContain('To use the token of the request, remove these headers.');
  });
});

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
