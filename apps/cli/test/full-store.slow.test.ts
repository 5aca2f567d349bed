// requires: redis-server

import {
  authorizeAsUser,
  basic,
  type Constellation,
  type RedisServer,
  startConstellation,
  startRedisServer,
} from '@gatehouse/testing';
import { temporaryFolder, writeMasterKey } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

const redirectUri = 'https://app.example/callback';
const secureKey = 'webKey0123456789abcdef';
const password = 'correct horse battery';
const userNames = ['user', 'user-off', 'user-out', 'token', 'endpoint'];
const clientIds = ['client', 'client-off', 'all', ...userNames];
const client = (clientId: string) => ({
  clientId,
  secureKey,
  name: clientId,
  orgId: 'org-1',
  redirectUris: [redirectUri],
  grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
  scopes: ['device:read', 'openid', 'offline_access'],
});
const user = (username: string) => ({ username, password, name: username, orgId: 'org-1' });

describe('a store at its maxmemory', () => {
  const directory = temporaryFolder();
  let redis: RedisServer;
  let system: Constellation;
  let environment: Record<string, string>;

  beforeAll(async () => {
    const MASTER_KEY_FILE = writeMasterKey(directory);
    redis = await startRedisServer();
    const STORE_URL = redis.url;
    system = await startConstellation({
      engine: 'sqlite',
      bootstrap: {
        organizations: [{ id: 'org-1', name: 'Example' }],
        clients: clientIds.map(client),
        users: userNames.map(user),
      },
      environment: { MASTER_KEY_FILE, STORE_URL },
    });
    environment = { STORE_URL, MASTER_KEY_FILE, DATA_DIR: directory };
  });
  afterAll(async () => {
    await system.stop();
    await redis.stop();
  });
  beforeEach(async () => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
  });

  /** Every Redis uses more memory than this. */
  const fill = () => redis.command('CONFIG', 'SET', 'maxmemory', '1');

  async function post(path: string, clientId: string, parameters: Record<string, string>) {
    const reply = await fetch(`${system.authorizationServerUrl}${path}`, {
      method: 'POST',
      headers: { authorization: basic(clientId, secureKey) },
      body: new URLSearchParams(parameters),
    });
    const text = await reply.text();
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, string>);
    return { status: reply.status, retryAfter: reply.headers.get('retry-after'), body };
  }

  async function machineToken(clientId: string): Promise<string> {
    const { body } = await post('/token', clientId, { grant_type: 'client_credentials' });
    return body.access_token ?? '';
  }

  async function userTokens(name: string) {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: name,
      redirect_uri: redirectUri,
      scope: 'openid offline_access device:read',
      prompt: 'consent',
    });
    const url = `${system.authorizationServerUrl}/authorize?${query}`;
    const code = (await authorizeAsUser(url, user(name))).searchParams.get('code') ?? '';
    const redemption = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    const { body } = await post('/token', name, redemption);
    return { access: body.access_token ?? '', refresh: body.refresh_token ?? '' };
  }

  const call = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${system.gatewayUrl}/api/device`, { headers })).status;
  };

  async function untilRejected(token: string): Promise<void> {
    const deadline = performance.now() + 1000;
    while ((await call(token)) !== 401) {
      expect(performance.now()).toBeLessThan(deadline);
    }
  }

  const run = (args: readonly string[], stdin?: string) => runGatehouse(environment, args, stdin);

  test('serves calls with a valid token, and answers token requests with Retry-After', async () => {
    const token = await machineToken('client');
    // The first call creates the signing key of the gateway.
    expect(await call(token)).toBe(200);
    await fill();
    const statuses: number[] = [];
    for (let count = 0; count < 60; count += 1) {
      statuses.push(await call(token));
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
    const refused = await post('/token', 'client', { grant_type: 'client_credentials' });
    expect(refused).toMatchObject({ status: 503, retryAfter: '1' });
    expect(refused.body.error).toBe('temporarily_unavailable');
  });

  test.each([
    ['revoke client', ['tokens', 'revoke', '--yes', '--client', 'client']],
    ['clients disable', ['clients', 'change', '--disable', '--yes', 'client-off']],
  ])('accepts %s, with its audit entry', async (_command, args) => {
    const clientId = args.at(-1) ?? '';
    const token = await machineToken(clientId);
    expect(await call(token)).toBe(200);
    await fill();
    expect(await run(args)).toMatchObject({ code: 0, errors: '' });
    await untilRejected(token);
    const listed = await run(['audit', 'list', '--client', clientId, '--json']);
    expect(listed.output).toContain('"client_changed"');
  });

  test.each([
    ['revoke user', ['tokens', 'revoke', '--yes', '--user', 'user']],
    ['users disable', ['users', 'change', '--disable', '--yes', 'user-off']],
    ['users sign-out', ['tokens', 'revoke', '--yes', '--user', 'user-out']],
  ])('accepts %s', async (_command, args) => {
    const { access, refresh } = await userTokens(args.at(-1) ?? '');
    expect(await call(access)).toBe(200);
    await fill();
    expect(await run(args)).toMatchObject({ code: 0, errors: '' });
    await untilRejected(access);
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    const form = { grant_type: 'refresh_token', refresh_token: refresh };
    expect((await post('/token', args.at(-1) ?? '', form)).body.error).toBe('invalid_grant');
  });

  test('accepts revoke token, which revokes the grant', async () => {
    const { access, refresh } = await userTokens('token');
    await fill();
    expect(await run(['tokens', 'revoke', '--yes'], `${access}\n`)).toMatchObject({
      code: 0,
      errors: '',
    });
    expect(await call(access)).toBe(401);
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    const form = { grant_type: 'refresh_token', refresh_token: refresh };
    expect((await post('/token', 'token', form)).body.error).toBe('invalid_grant');
  });

  test('accepts a revocation by a client, which revokes the grant', async () => {
    const { access, refresh } = await userTokens('endpoint');
    await fill();
    expect(await post('/revoke', 'endpoint', { token: refresh })).toMatchObject({ status: 200 });
    expect(await call(access)).toBe(401);
  });

  test('accepts revoke all', async () => {
    const token = await machineToken('all');
    await fill();
    expect(await run(['tokens', 'revoke', '--all', '--yes'])).toMatchObject({
      code: 0,
      errors: '',
    });
    await untilRejected(token);
  });
});
