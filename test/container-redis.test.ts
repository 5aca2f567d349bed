// requires: redis-server redis-cli
/** Redis with the configuration, users and passwords of the containers. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  authorizeAsUser,
  createPageVisitor,
  postAs,
  startRedisServer,
  until,
} from '@gatehouse/testing';
import { startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';
import { makeTierSecrets } from '../scripts/container/tier-secrets.ts';
import { root } from './source-tree.ts';

const secrets = temporaryFolder();
for (const folder of ['store', 'cookies', 'database', 'operator', 'redis', 'postgres']) {
  mkdirSync(join(secrets, folder));
}
makeTierSecrets(secrets);
const redis = await startRedisServer({
  // The store's user may not send PING.
  username: 'health',
  password: 'none',
  arguments: [...containerSettings(), '--aclfile', join(secrets, 'redis', 'users.acl')],
});
afterAll(() => redis.stop());

const client = { clientId: 'web', secureKey: 'restartKey0123456789ab' };
const name = 'Example web application';
const redirectUri = 'https://app.example/callback';
const alice = { username: 'alice', password: 'correct horse battery' };
const grantTypes = ['authorization_code', 'refresh_token'];
const rights = { scopes: ['device:read'], grantTypes, redirectUris: [redirectUri] };
const bootstrap = {
  organizations: [{ id: 'org-1', name: 'One' }],
  clients: [{ ...client, ...rights, name, orgId: 'org-1' }],
  users: [{ ...alice, name: 'Alice', orgId: 'org-1' }],
};
const { username, password } = new URL(
  readFileSync(join(secrets, 'store/store-url'), 'utf8').trim(),
);
const storeUrl = `redis://${username}:${password}@127.0.0.1:${redis.port}`;
const engine = { storeUrl, storedText: async () => '', stop: async () => undefined };
const system = await startSystem({ engine, bootstrap });

/**
 * containers/redis.conf without its paths. With `everysec`, a killed Redis can lose acknowledged
 * writes that wait for an fsync, so this one leaves writing to the operating system.
 */
function containerSettings(): readonly string[] {
  const lines = readFileSync(join(root, 'containers/redis.conf'), 'utf8').split('\n');
  const settings = lines.map((line) => /^([a-z-]+) (.*)$/.exec(line)?.slice(1) ?? []);
  return settings.flatMap(([name = '', value = '']) =>
    ['', 'aclfile', 'appendfsync', 'bind', 'dir'].includes(name)
      ? []
      : [`--${name}`, value === '""' ? '' : value],
  );
}

describe('the users of Redis', () => {
  /** Returns the output of redis-cli, including errors. */
  async function send(login: string, command: string): Promise<string> {
    const words = `-h 127.0.0.1 -p ${redis.port} --no-auth-warning ${login}${command}`.split(' ');
    const { stdout, stderr } = await promisify(execFile)('redis-cli', words);
    return `${stdout}${stderr}`.trim();
  }

  test.each(['PING', 'GET key', 'INFO', 'ACL LIST'])(
    'no caller may send %s without a password',
    async (command) => {
      expect(await send('', command)).toMatch(/^NOAUTH/);
    },
  );

  test.each(['', 'none', 'default', 'gatehouse'])(
    'the default user does not accept %j as a password',
    async (password) => {
      expect(await send(`--user default --pass ${password} `, 'PING')).toContain('NOAUTH');
    },
  );

  test('the user of the health check checks whether Redis answers', async () => {
    expect(await send('--user health --pass none ', 'PING')).toBe('PONG');
  });

  test.each(['GET key', 'SET key other', 'FLUSHALL', 'INFO', 'EVAL return 0', 'ACL LIST'])(
    'the user of the health check cannot send %s',
    async (command) => {
      // The statistics of INFO would also contain the word.
      expect(await send('--user health --pass none ', command)).toMatch(/^NOPERM/);
    },
  );
});

describe('after a restart of Redis', () => {
  test('revocation, replay detection and the account page work for earlier tokens', async () => {
    const issuer = system.authorizationServerUrl;
    const visitor = createPageVisitor();
    const post = (path: string, form: Record<string, string>) =>
      postAs(`${issuer}${path}`, client, form);
    const redeem = (code: string) =>
      post('/token', { grant_type: 'authorization_code', code, redirect_uri: redirectUri });

    async function signIn() {
      const query = `response_type=code&client_id=web&redirect_uri=${redirectUri}`;
      const landing = await authorizeAsUser(`${issuer}/authorize?${query}`, alice, visitor);
      const code = landing.searchParams.get('code') ?? '';
      const tokens = (await (await redeem(code)).json()) as Record<string, string>;
      return { code, access: tokens.access_token, refresh: tokens.refresh_token ?? '' };
    }

    async function callWith({ access }: { readonly access?: string | undefined }) {
      const headers = { authorization: `Bearer ${access}` };
      return (await fetch(`${system.gatewayUrl}/api/device`, { headers })).status;
    }

    const [first, second] = [await signIn(), await signIn()];
    expect([await callWith(first), await callWith(second)]).toEqual([200, 200]);
    await redis.restart();
    // Each server connects again by itself.
    await until(async () => (await callWith(first)) !== 503);
    await until(async () => (await visitor.get(`${issuer}/account`)).status !== 503);
    expect([await callWith(first), await callWith(second)]).toEqual([200, 200]);
    const page = await visitor.get(`${issuer}/account`);
    expect([page.status, page.body]).toEqual([200, expect.stringContaining(name)]);

    const revoked = await post('/revoke', { token: first.refresh });
    expect([revoked.status, await callWith(first)]).toEqual([200, 401]);
    expect([(await redeem(second.code)).status, await callWith(second)]).toEqual([400, 401]);
  });
});
