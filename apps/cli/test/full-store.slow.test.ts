// requires: redis-server
import { authorizeAsUser, postAs, startRedisServer, until } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

const redirectUri = 'https://app.example/callback';
const secureKey = 'webKey0123456789abcdef';
const password = 'correct horse battery';
const names = ['user', 'user-off', 'token', 'endpoint', 'client', 'client-off', 'all'];
const redis = await startRedisServer();
const system = await startSystem({
  engine: { storeUrl: redis.url, storedText: async () => '', stop: redis.stop },
  bootstrap: {
    organizations: [{ id: 'org-1', name: 'Example' }],
    clients: names.map((clientId) => ({
      ...{ clientId, secureKey, name: clientId, orgId: 'org-1', redirectUris: [redirectUri] },
      grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
      scopes: ['device:read', 'openid', 'offline_access'],
    })),
    users: names.map((username) => ({ username, password, name: username, orgId: 'org-1' })),
  },
});

const limit = (bytes: string) => redis.command('CONFIG', 'SET', 'maxmemory', bytes);
beforeEach(() => limit('0'));
/** Every Redis uses more memory than this. */
const fill = () => limit('1');

async function post(path: string, clientId: string, form: Record<string, string>) {
  const url = `${system.authorizationServerUrl}${path}`;
  const reply = await postAs(url, { clientId, secureKey }, form);
  const body = JSON.parse((await reply.text()) || '{}') as Record<string, string>;
  return { status: reply.status, retryAfter: reply.headers.get('retry-after'), body };
}

/** The tokens of a user at the client with the same name. */
async function tokensOf(name: string) {
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id: name, redirect_uri: redirectUri, prompt: 'consent' },
    scope: 'openid offline_access device:read',
  });
  const url = `${system.authorizationServerUrl}/authorize?${query}`;
  const landing = await authorizeAsUser(url, { username: name, password });
  const code = landing.searchParams.get('code') ?? '';
  const redemption = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
  const { body } = await post('/token', name, redemption);
  return { access: body.access_token ?? '', refresh: body.refresh_token ?? '' };
}

async function call(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${system.gatewayUrl}/api/device`, { headers })).status;
}

describe('a store at its maxmemory', () => {
  test('serves calls with a valid token, and answers token requests with Retry-After', async () => {
    const { access } = await tokensOf('client');
    // The first call creates the signing key of the gateway.
    expect(await call(access)).toBe(200);
    await fill();
    for (let count = 0; count < 60; count += 1) {
      expect(await call(access)).toBe(200);
    }
    expect(await call('not-a-token')).toBe(401);
    const refused = await post('/token', 'client', { grant_type: 'client_credentials' });
    expect(refused).toMatchObject({ status: 503, retryAfter: '1' });
    expect(refused.body.error).toBe('temporarily_unavailable');
  });

  test.each([
    ['client', 'tokens revoke --yes --client client'],
    ['client-off', 'clients change --disable --yes client-off'],
    ['user', 'tokens revoke --yes --user user'],
    ['user-off', 'users change --disable --yes user-off'],
    ['token', 'tokens revoke --yes'],
    ['endpoint', 'POST /revoke'],
    ['all', 'tokens revoke --all --yes'],
  ])('accepts the revocation of the tokens of %s by %s', async (name, command) => {
    const { access, refresh } = await tokensOf(name);
    expect(await call(access)).toBe(200);
    await fill();
    if (command === 'POST /revoke') {
      expect(await post('/revoke', name, { token: refresh })).toMatchObject({ status: 200 });
    } else {
      const words = command.split(' ');
      const done = await runGatehouse(system.commandEnvironment, words, `${access}\n`);
      expect(done).toMatchObject({ code: 0, errors: '' });
    }
    await until(async () => (await call(access)) === 401);
    await limit('0');
    const form = { grant_type: 'refresh_token', refresh_token: refresh };
    expect((await post('/token', name, form)).body.error).toMatch(/^invalid_(?:grant|client)$/);
  });
});
