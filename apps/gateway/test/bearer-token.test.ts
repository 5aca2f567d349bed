import { describe, expect, test } from '@jest/globals';
import { bootGateway, publicUrl } from './booted-gateway.ts';
import { type Received, send } from './http-client.ts';
import { bootSuiteGateway } from './suite-gateway.ts';

/** IR-10: every challenge contains the URL of the resource metadata (RFC 9728 §5.1). */
const metadata = `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource"`;

const booted = await bootSuiteGateway();
const token = await booted.issueToken();

function get(
  path: string,
  headers: Record<string, string> | readonly string[] = {},
): Promise<Received> {
  return send(booted.port, path, { headers });
}

describe('an access token', () => {
  test.each(['Bearer', 'bearer', 'BEARER'])(
    'is accepted with the scheme spelled %s',
    async (scheme) => {
      const reply = await get('/api/device', { Authorization: `${scheme} ${token}` });

      expect(reply.status).toBe(200);
      expect(reply.json).toEqual({ status: 200, result: [] });
    },
  );

  test('is accepted as a query parameter, which the gateway does not forward', async () => {
    const reply = await get(`/api/device?pageSize=2&access_token=${token}&pageIndex=0`);

    expect(reply.status).toBe(200);
    expect(booted.upstream.last().url).toBe('/api/device?pageSize=2&pageIndex=0');
    expect(JSON.stringify(booted.upstream.last().headers)).not.toContain(token);
    expect(booted.log()).not.toContain(token);
    expect(JSON.stringify(reply.headers)).not.toContain(token);
  });

  test('is removed from the query in every spelling of its name', async () => {
    const reply = await get(`/api/device?%61ccess%5Ftoken=${token}`);

    expect(reply.status).toBe(200);
    expect(booted.upstream.last().url).toBe('/api/device');
  });

  test.each([
    ['two spaces', (value: string) => `Bearer  ${value}`],
    ['a tab', (value: string) => `Bearer\t${value}`],
    ['a second word', (value: string) => `Bearer ${value} x`],
    ['a list', (value: string) => `Bearer ${value}, Bearer ${value}`],
    ['nothing', () => 'Bearer'],
    ['null', () => 'Bearer null'],
    ['8 KB', () => `Bearer ${'a'.repeat(8192)}`],
    ['invalid characters', (value: string) => `Bearer ${value}"`],
  ])('is rejected if the header has %s', async (_name, authorization) => {
    const reply = await get('/api/device', { Authorization: authorization(token) });

    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toBe(
      `Bearer realm="gatehouse", error="invalid_token", ${metadata}`,
    );
    expect(booted.upstream.requests).toEqual([]);
  });

  test('is requested without an error if the request has no credential', async () => {
    const reply = await get('/api/device');

    expect([reply.status, reply.json.code]).toEqual([401, 'unauthorized']);
    expect(reply.headers['www-authenticate']).toBe(`Bearer realm="gatehouse", ${metadata}`);
    expect(reply.json).not.toHaveProperty('result');
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(reply.headers['x-content-type-options']).toBe('nosniff');
  });

  test('is requested without an error if the request uses another scheme', async () => {
    const reply = await get('/api/device', { Authorization: 'Basic ZGVtbzp4' });

    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toBe(`Bearer realm="gatehouse", ${metadata}`);
  });

  test.each([
    ['unknown', async () => 'nobody'],
    ['expired', async () => booted.issueToken({ exp: Math.floor(Date.now() / 1000) - 1 })],
    ['a refresh token', async () => booted.issueToken({ kind: 'RefreshToken' })],
    ['for another audience', async () => booted.issueToken({ aud: 'https://other.example' })],
  ])('is rejected if it is %s', async (_name, create) => {
    const reply = await get('/api/device', { Authorization: `Bearer ${await create()}` });

    expect([reply.status, reply.json.code]).toEqual([401, 'unauthorized']);
    expect(reply.json.result).toEqual({ text: expect.any(String), value: 'expired' });
    expect(reply.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  test('is rejected with the name of the missing scope', async () => {
    const narrow = await booted.issueToken({ scope: 'device:write openid' });
    const reply = await get('/api/device', { Authorization: `Bearer ${narrow}` });

    expect([reply.status, reply.json.code]).toEqual([403, 'access_denied']);
    expect(reply.headers['www-authenticate']).toBe(
      `Bearer realm="gatehouse", error="insufficient_scope", scope="device:read", ${metadata}`,
    );
    expect(booted.upstream.requests).toEqual([]);
  });

  test('is rejected as soon as it is revoked', async () => {
    const revoked = await booted.issueToken();
    const key = `token:${booted.identity.credentialHash(revoked)}`;
    await booted.identity.store.delete([key]);

    expect((await get('/api/device', { Authorization: `Bearer ${revoked}` })).status).toBe(401);
  });

  test.each(['not json', '{}', '[]', 'null', '{"kind":"AccessToken","clientId":"demo"}'])(
    'is rejected if its record is damaged: %s',
    async (record) => {
      const damaged = await booted.issueToken();
      await booted.identity.store.set(`token:${booted.identity.credentialHash(damaged)}`, record);

      const reply = await get('/api/device', { Authorization: `Bearer ${damaged}` });
      expect([401, 503]).toContain(reply.status);
    },
  );

  test('is ignored in a cookie', async () => {
    expect((await get('/api/device', { Cookie: `access_token=${token}` })).status).toBe(401);
  });

  test('is ignored in a form body', async () => {
    const reply = await send(booted.port, '/device-instance', {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: `access_token=${token}`,
    });
    expect(reply.status).toBe(401);
  });
});

describe('more than one credential', () => {
  test('rejects an Authorization header together with a token in the query', async () => {
    const reply = await get(`/api/device?access_token=${token}`, {
      Authorization: `Bearer ${token}`,
    });

    expect([reply.status, reply.json.code]).toEqual([400, 'multiple_credentials']);
    expect(reply.headers['www-authenticate']).toContain('error="invalid_request"');
  });

  const kinds = ['signature', 'X-Access-Token', 'bearer', 'query'] as const;
  const pairs = kinds.flatMap((first, index) =>
    kinds.slice(index + 1).map((second) => [first, second] as const),
  );

  test.each(pairs)('rejects %s with %s, even if both are good', async (...pair) => {
    const query = pair.includes('query') ? `access_token=${token}` : '';
    const reply = await get(`/api/device?${query}`, {
      ...(pair.includes('signature') ? booted.signed({ query }) : {}),
      ...(pair.includes('X-Access-Token') ? { 'X-Access-Token': 'any' } : {}),
      ...(pair.includes('bearer') ? { Authorization: `Bearer ${token}` } : {}),
    });

    expect([reply.status, reply.json.code]).toEqual([400, 'multiple_credentials']);
    expect(booted.upstream.requests).toEqual([]);
  });

  test('reports a missing signature for a token with only X-Client-Id', async () => {
    const reply = await get('/api/device', {
      Authorization: `Bearer ${token}`,
      'X-Client-Id': 'demo',
    });

    expect([reply.status, reply.json.code]).toEqual([401, 'missing_signature']);
    expect(reply.json.message).toContain('To use the token of the request, remove these headers.');
  });

  test.each([
    ['Authorization', 'Bearer'],
    ['X-Access-Token', ''],
  ])('rejects a repeated %s header, which Node would drop or join', async (name, scheme) => {
    const value = `${scheme} ${token}`.trim();
    const reply = await get('/api/device', [name, value, name.toLowerCase(), value]);

    expect([reply.status, reply.json.code]).toEqual([400, 'multiple_credentials']);
  });

  test('rejects a repeated access_token parameter', async () => {
    const reply = await get(`/api/device?access_token=${token}&access_token=${token}`);

    expect([reply.status, reply.json.code]).toEqual([400, 'multiple_credentials']);
  });

  test('rejects an OAuth access token in X-Access-Token', async () => {
    const reply = await get('/api/device', { 'X-Access-Token': token });

    expect([reply.status, reply.json.code]).toEqual([401, 'unauthorized']);
    expect(reply.json.result.value).toBe('expired');
  });
});

describe('the strict profile', () => {
  test('rejects a token in the query and accepts it in the header', async () => {
    const strict = await bootGateway({ strict: true });
    const own = await strict.issueToken();

    const inQuery = await send(strict.port, `/api/device?access_token=${own}`);
    const inHeader = await send(strict.port, '/api/device', {
      headers: { Authorization: `Bearer ${own}` },
    });

    expect([inQuery.status, inHeader.status]).toEqual([401, 200]);
    await strict.close();
  });
});
