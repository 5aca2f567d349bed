// requires: redis-server
import { randomBytes } from 'node:crypto';
import { failureReasons } from '@gatehouse/errors';
import { openIdentity } from '@gatehouse/identity';
import { until } from '@gatehouse/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Received } from './http-client.ts';
import { bootSuiteGateway, onEngines } from './suite-gateway.ts';

const masterKey = randomBytes(32);
const gateway = await bootSuiteGateway({ masterKey });
await gateway.saveClient({ clientId: 'revoked' }, 'the key of the revoked client');
await gateway.saveClient({ clientId: 'disabled' }, 'the key of the disabled client');

const get = (headers: Record<string, string>) => gateway.send('/api/device', { headers });
const bearer = (token: string) => get({ Authorization: `Bearer ${token}` });
const xAccess = (token: string) => get({ 'X-Access-Token': token });
const lastReason = () => gateway.logLines().at(-1)?.reason;

async function issueXAccessToken(clientId: string, now = Date.now): Promise<string> {
  const { store } = gateway.identity;
  const { xAccessTokens } = openIdentity({ store, masterKey, now });
  const token = await xAccessTokens.issue({ clientId }, 60);
  gateway.keepSecret(token);
  return token;
}

/** Processes read copies of a client that are up to 50 ms old. */
const until401 = (call: () => Promise<Received>) =>
  until(async () => (await call()).status === 401);

function expectMistake(
  { status, json }: Received,
  cause: keyof typeof failureReasons,
  value?: string,
): void {
  expect([status, json.code, json.result?.cause]).toEqual([401, 'unauthorized', cause]);
  expect(json.result.value).toBe(value);
  const { fix } = failureReasons[cause];
  expect(json.result.hint).toBe(fix);
  expect(json.message.endsWith(fix)).toBe(true);
}

describe('a rejected token', () => {
  test('differs from an unknown one if the client was revoked, but only for its holder', async () => {
    const revoked = await issueXAccessToken('revoked');
    const access = await gateway.issueToken({ clientId: 'revoked' });
    expect((await xAccess(revoked)).status).toBe(200);
    await gateway.identity.revocations.client('revoked');
    await until401(() => xAccess(revoked));

    expectMistake(await xAccess(revoked), 'token_revoked', 'expired');
    expectMistake(await bearer(access), 'token_revoked', 'expired');
  });

  test('is reported as revoked if the client is disabled or unknown', async () => {
    const token = await issueXAccessToken('disabled');
    await gateway.saveClient({ clientId: 'disabled', enabled: false });
    await until401(() => xAccess(token));

    expectMistake(await xAccess(token), 'token_revoked', 'expired');
    const orphan = await gateway.issueToken({ clientId: 'nobody' });
    expectMistake(await bearer(orphan), 'token_revoked', 'expired');
  });

  test('gets the header in which it belongs', async () => {
    const inWrongHeader = await xAccess(await gateway.issueToken());
    expectMistake(inWrongHeader, 'token_in_wrong_header', 'expired');
    expect(inWrongHeader.json.message).toContain('"Authorization: Bearer"');
    const token = await issueXAccessToken('demo');
    expectMistake(await bearer(token), 'token_in_wrong_header', 'expired');
    const inQuery = await gateway.send(`/api/device?access_token=${token}`);
    expectMistake(inQuery, 'token_in_wrong_header', 'expired');
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('names the API that a genuine token is for', async () => {
    const reply = await bearer(await gateway.issueToken({ aud: 'https://other.example' }));
    expectMistake(reply, 'token_for_other_resource', 'expired');
    expect(reply.json.message).toContain('The token is for https://other.example');
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('gets one answer if it is unknown, expired, deleted, or a credential of another kind', async () => {
    const deleted = await issueXAccessToken('demo');
    await gateway.identity.revocations.token(deleted);
    const revoked = await gateway.issueToken();
    await gateway.identity.revocations.token(revoked);
    const tokens = [
      ...['nobody', 'k'.repeat(43), deleted, revoked],
      await issueXAccessToken('demo', () => Date.now() - 60_001),
      await gateway.issueToken({ exp: Math.floor(Date.now() / 1000) - 1 }),
      await gateway.issueToken({ kind: 'RefreshToken' }),
    ];
    for (const token of tokens) {
      for (const reply of [await bearer(token), await xAccess(token)]) {
        expect(reply.json).toEqual({
          status: 401,
          code: 'unauthorized',
          message: 'The token is unknown, expired or revoked.',
          result: { text: 'Token expired', value: 'expired' },
          timestamp: expect.any(Number),
        });
        expect(reply.headers['www-authenticate']).toContain('error="invalid_token"');
      }
    }
  });
});

// packages/signing tests which text is which mistake.
describe('a rejected credential', () => {
  test.each([
    ['Basic ZGVtbzp4', 'bearer_scheme_wrong', 'the scheme Basic'],
    ['', 'token_missing', 'no token'],
    ['Bearer:kXhnR0b2vY6cM1pFz7', 'bearer_malformed', 'one space'],
  ] as const)('of Authorization %p is named without an error', async (value, cause, text) => {
    const reply = await get({ Authorization: value });
    expectMistake(reply, cause);
    expect(reply.json.message).toContain(text);
    expect(reply.headers['www-authenticate']).not.toContain('error=');
    expect(lastReason()).toBe(cause);
  });

  test.each([
    ['token_malformed', { Authorization: 'Bearer "kXhnR0b2vY6cM1pFz7"' }],
    ['token_missing', { 'X-Access-Token': 'null' }],
  ] as const)('is named %s in %j, and its value stays "expired"', async (cause, headers) => {
    expectMistake(await get(headers), cause, 'expired');
    expect(lastReason()).toBe(cause);
  });

  test('under another name is named', async () => {
    const reply = await get({ 'x-auth-token': 'kXhnR0b2vY6cM1pFz7' });
    expect(reply.json.result.cause).toBe('credential_header_misnamed');
    expect(reply.json.message).toContain('X-Auth-Token');
    expect((await get({ 'X-Other': 'x' })).json).not.toHaveProperty('result');
    expect(lastReason()).toBe('unauthorized');
  });

  test('is never repeated, because it may be a token', async () => {
    const secret = 'kXhnR0b2vY6cM1pFz7';
    gateway.keepSecret(secret);
    for (const value of [secret, `${secret} x`, `Bearer ${secret}"`, `Bearer Bearer ${secret}`]) {
      for (const name of ['Authorization', 'X-Access-Token', 'X-Auth-Token']) {
        const reply = await get({ [name]: value });
        expect(JSON.stringify([reply.json, reply.headers])).not.toContain(secret);
      }
    }
  });
});

const body = '{"expires":600}';
const contentType = 'application/json';
const secureKey = 'the-key-that-will-be-removed';

describe.each(await onEngines(bootSuiteGateway))(
  'a removed secure key at the gateway on $engine',
  ({ system: gateway }) => {
    const { clients } = gateway.identity;
    gateway.keepSecret(secureKey);
    let testNumber = 0;
    let clientId: string;
    let newKey: string;
    let newKeyId: string;
    let oldKeyId: string;

    beforeEach(async () => {
      testNumber += 1;
      clientId = `client-${testNumber}`;
      await gateway.saveClient({ clientId }, secureKey);
      const rotated = await clients.rotateKey(clientId, { replaceOldest: false });
      newKey = rotated.secureKey;
      [newKeyId = '', oldKeyId = ''] = clients
        .describeKeys(rotated.client)
        .map(({ keyId }) => keyId);
    });

    const signers = {
      'version 1': (key: string) => ({
        'Content-Type': contentType,
        ...gateway.signed({ clientId, secureKey: key, body }),
      }),
      'version 2': (key: string) =>
        gateway.signedV2({
          ...{ clientId, secureKey: key, body, contentType },
          ...{ method: 'POST', path: '/api/v1/token' },
        }),
    } as const;

    async function issue(headers: Record<string, string>): Promise<Record<string, string>> {
      const reply = await gateway.send('/api/v1/token', { method: 'POST', headers, body });
      expect(reply.status).toBe(200);
      gateway.keepSecret(reply.json.result);
      return { 'X-Access-Token': reply.json.result };
    }

    const statusOf = async (headers: Record<string, string>) =>
      (await gateway.send('/api/device', { headers })).status;

    test.each(['version 1', 'version 2'] as const)(
      'revokes only the X-Access-Tokens that it obtained with %s',
      async (version) => {
        const old = await issue(signers[version](secureKey));
        const current = await issue(signers[version](newKey));
        expect(await statusOf(old)).toBe(200);
        await clients.removeKey(clientId, oldKeyId);

        await until(async () => (await statusOf(old)) === 401);
        expect(await statusOf(current)).toBe(200);
      },
    );

    test('leaves X-Access-Tokens valid if they are to be kept', async () => {
      const old = await issue(signers['version 1'](secureKey));
      await clients.removeKey(clientId, oldKeyId, { keepTokens: true });
      // The gateway has noticed the removal when it rejects the key.
      const signed = () => gateway.signedV2({ clientId, secureKey });
      await until(async () => (await statusOf(signed())) === 401);
      expect(await statusOf(old)).toBe(200);
      await clients.removeKey(clientId, oldKeyId);
      await until(async () => (await statusOf(old)) === 401);
    });

    test('was last used when it signed a request, and its client with every token', async () => {
      const { lastUse } = gateway.identity;
      const token = await gateway.bearer({ clientId });
      expect(await statusOf({ ...token, Authorization: 'Bearer unknown' })).toBe(401);
      expect(await lastUse.ofClient(clientId)).toBeUndefined();
      expect(await statusOf(token)).toBe(200);
      await until(async () => (await lastUse.ofClient(clientId)) !== undefined);
      expect(await lastUse.ofKey(clientId, oldKeyId)).toBeUndefined();
      await issue(signers['version 1'](secureKey));
      await until(async () => (await lastUse.ofKey(clientId, oldKeyId)) !== undefined);
      expect(await lastUse.ofKey(clientId, newKeyId)).toBeUndefined();
    });

    test('notes which practices its client should give up', async () => {
      const { lastUse } = gateway.identity;
      const { Authorization = '' } = await gateway.bearer({ clientId });
      const inQuery = `/api/device?access_token=${Authorization.slice('Bearer '.length)}`;
      expect((await gateway.send(inQuery)).status).toBe(200);
      await until(async () => (await lastUse.ofPractice(clientId, 'query_token')) !== undefined);
      expect(await lastUse.ofPractice(clientId, 'HMAC-SHA-256')).toBeUndefined();
      await issue(signers['version 2'](secureKey));
      await until(async () => (await lastUse.ofPractice(clientId, 'HMAC-SHA-256')) !== undefined);
      expect(await lastUse.ofPractice(clientId, 'SHA-256')).toBeUndefined();
      await issue(signers['version 1'](secureKey));
      await until(
        async () => (await lastUse.ofPractice(clientId, 'SHA-256', oldKeyId)) !== undefined,
      );
      expect(await lastUse.ofPractice(clientId, 'MD5')).toBeUndefined();
    });

    test('revokes only the access tokens that name it', async () => {
      const named = [oldKeyId, newKeyId, undefined, '000000000000'];
      const tokens = await Promise.all(
        named.map((secureKeyId) => gateway.bearer({ clientId, secureKeyId })),
      );
      await clients.removeKey(clientId, oldKeyId);
      await until(async () => (await statusOf(tokens[0] ?? {})) === 401);
      expect(await Promise.all(tokens.map(statusOf))).toEqual([401, 200, 200, 401]);
    });
  },
);
