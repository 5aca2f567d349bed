import { describe, expect, test } from '@jest/globals';
import { publicUrl } from './booted-gateway.ts';
import type { Received, Sent } from './http-client.ts';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

/** Every challenge contains the URL of the resource metadata (RFC 9728 §5.1). */
const metadata = `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource"`;

const gateway = await bootSuiteGateway();
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
