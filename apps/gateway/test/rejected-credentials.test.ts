import { failureReasons } from '@gatehouse/errors';
import { createXAccessTokens } from '@gatehouse/identity';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { type Received, type Sent, send } from './http-client.ts';

describe('a rejected token', () => {
  let booted: BootedGateway;
  const get = (headers: Record<string, string>) => send(booted.port, '/api/device', { headers });
  const bearer = (token: string) => get({ Authorization: `Bearer ${token}` });

  beforeAll(async () => {
    booted = await bootGateway();
    await booted.saveClient({ clientId: 'revoked' }, 'the key of the revoked client');
    await booted.saveClient({ clientId: 'disabled' }, 'the key of the disabled client');
  });
  afterAll(() => closeUnharmed(booted));

  async function issueXAccessToken(clientId: string, now = Date.now): Promise<string> {
    const tokens = createXAccessTokens({ ...booted.identity, now });
    const token = await tokens.issue({ clientId }, 60);
    booted.keepSecret(token);
    return token;
  }

  test('differs from an unknown one if the client was revoked, but only for its holder', async () => {
    const revoked = await issueXAccessToken('revoked');
    const access = await booted.issueToken({ clientId: 'revoked' });
    expect((await get({ 'X-Access-Token': revoked })).status).toBe(200);
    await booted.identity.revocations.client('revoked');
    await until401(() => get({ 'X-Access-Token': revoked }));

    expectMistake(await get({ 'X-Access-Token': revoked }), 'token_revoked', 'expired');
    expectMistake(await bearer(access), 'token_revoked', 'expired');
  });

  test('is reported as revoked if the client is disabled or unknown', async () => {
    const token = await issueXAccessToken('disabled');
    await booted.saveClient({ clientId: 'disabled', enabled: false });
    await until401(() => get({ 'X-Access-Token': token }));

    expectMistake(await get({ 'X-Access-Token': token }), 'token_revoked', 'expired');
    const orphan = await booted.issueToken({ clientId: 'nobody' });
    expectMistake(await bearer(orphan), 'token_revoked', 'expired');
  });

  test('gets the header in which it belongs', async () => {
    const access = await booted.issueToken();
    const xAccess = await issueXAccessToken('demo');

    const inWrongHeader = await get({ 'X-Access-Token': access });
    expectMistake(inWrongHeader, 'token_in_wrong_header', 'expired');
    expect(inWrongHeader.json.message).toContain('"Authorization: Bearer"');
    expectMistake(await bearer(xAccess), 'token_in_wrong_header', 'expired');
    const inQuery = await send(booted.port, `/api/device?access_token=${xAccess}`);
    expectMistake(inQuery, 'token_in_wrong_header', 'expired');
  });

  test('gets one answer if it is unknown, expired, deleted, or a credential of another kind', async () => {
    const deleted = await issueXAccessToken('demo');
    await booted.identity.revocations.token(deleted);
    const past = Math.floor(Date.now() / 1000) - 1;
    const tokens = [
      'nobody',
      'k'.repeat(43),
      deleted,
      await issueXAccessToken('demo', () => Date.now() - 60_001),
      await booted.issueToken({ exp: past }),
      await booted.issueToken({ kind: 'RefreshToken' }),
      await booted.issueToken({ aud: 'https://other.example' }),
    ];
    for (const token of tokens) {
      for (const reply of [await bearer(token), await get({ 'X-Access-Token': token })]) {
        expect(reply.status).toBe(401);
        expect(reply.json).toEqual({
          status: 401,
          code: 'unauthorized',
          message: 'The token is unknown, expired or revoked.',
          result: { text: 'Token expired', value: 'expired' },
          timestamp: expect.any(Number),
        });
      }
    }
  });

  /** Processes read copies of a client that are up to 50 ms old. */
  async function until401(call: () => Promise<Received>): Promise<void> {
    while ((await call()).status !== 401) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
});

describe('a rejected credential', () => {
  let booted: BootedGateway;
  const get = (headers: Sent['headers'] & object, query = '') =>
    send(booted.port, `/api/device${query}`, { headers });
  const lastReason = () => booted.logLines().at(-1)?.reason;

  beforeAll(async () => {
    booted = await bootGateway();
  });
  afterAll(() => closeUnharmed(booted));

  test.each([
    ['Basic ZGVtbzp4', 'bearer_scheme_wrong', 'the scheme Basic'],
    ['', 'token_missing', 'no token'],
    ['Bearer:kXhnR0b2vY6cM1pFz7', 'bearer_malformed', 'one space'],
  ])(
    'of Authorization %p is named without an error in the challenge',
    async (value, cause, text) => {
      const reply = await get({ Authorization: value });
      expectMistake(reply, cause, undefined);
      expect(reply.json.message).toContain(text);
      expect(reply.headers['www-authenticate']).not.toContain('error=');
      expect(lastReason()).toBe(cause);
    },
  );

  test.each<[string, Record<string, string>]>([
    ['token_missing', { Authorization: 'bearer ' }],
    ['token_malformed', { Authorization: 'Bearer "kXhnR0b2vY6cM1pFz7"' }],
    ['token_missing', { 'X-Access-Token': 'null' }],
  ])('is named %s in %j, and its value stays "expired"', async (cause, headers) => {
    const reply = await get(headers);
    expectMistake(reply, cause, 'expired');
    expect(reply.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(lastReason()).toBe(cause);
  });

  test('that is one of several is listed with the others', async () => {
    const reply = await get(
      { Authorization: 'Bearer x', 'X-Access-Token': 'y' },
      '?access_token=z',
    );
    expect([reply.status, reply.json.code]).toEqual([400, 'multiple_credentials']);
    expect(reply.json.message).toContain(
      'X-Access-Token, Authorization and access_token in the query',
    );
    const twice = await get(['Authorization', 'Bearer x', 'authorization', 'Bearer x']);
    expect(twice.json.message).toContain('Authorization twice');
    expect(twice.headers['www-authenticate']).toContain('error="invalid_request"');
    expect(lastReason()).toBe('multiple_credentials');
  });

  test('under another name is named', async () => {
    const reply = await get({ 'x-auth-token': 'kXhnR0b2vY6cM1pFz7' });
    expectMistake(reply, 'credential_header_misnamed', undefined);
    expect(reply.json.message).toContain('X-Auth-Token');
    expect((await get({ 'X-Other': 'x' })).json).not.toHaveProperty('result');
    expect(lastReason()).toBe('unauthorized');
  });

  test('never repeats a value that may be a token', async () => {
    const secret = 'kXhnR0b2vY6cM1pFz7';
    booted.keepSecret(secret);
    for (const value of [secret, `${secret} x`, `Bearer ${secret}"`, `Bearer Bearer ${secret}`]) {
      for (const name of ['Authorization', 'X-Access-Token', 'X-Auth-Token']) {
        const reply = await get({ [name]: value });
        expect(JSON.stringify([reply.json, reply.headers])).not.toContain(secret);
      }
    }
  });

  test('in the query is named in the strict profile', async () => {
    const strict = await bootGateway({ strict: true });
    const token = await strict.issueToken();
    const reply = await send(strict.port, `/api/device?access_token=${token}`);
    expectMistake(reply, 'token_in_query', 'expired');
    await closeUnharmed(strict);
  });
});

function expectMistake(reply: Received, cause: string, value: string | undefined): void {
  expect([reply.status, reply.json.code, reply.json.result?.cause]).toEqual([
    401,
    'unauthorized',
    cause,
  ]);
  const { fix } = failureReasons[cause as keyof typeof failureReasons];
  expect(reply.json.result.value).toBe(value);
  if (cause !== 'credential_header_misnamed') {
    expect(reply.json.result.hint).toBe(fix);
    expect(reply.json.message.endsWith(fix)).toBe(true);
  }
}
