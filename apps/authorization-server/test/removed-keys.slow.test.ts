// requires: redis-server

import { setTimeout as sleep } from 'node:timers/promises';
import { openIdentity } from '@gatehouse/identity';
import { authorizeAsUser } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, basic, requestToken, resourceServer, web } from './fixtures.ts';
import {
  full,
  isActive,
  refreshing,
  requestPlatformToken,
  startGrantsSystems,
} from './grants-fixtures.ts';

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
}

type Issue = (issuer: string, secureKey: string) => Promise<Tokens>;

const asFull = (secureKey: string) => ({ authorization: basic(full.clientId, secureKey) });

async function ask(issuer: string, form: Record<string, string>, headers: Record<string, string>) {
  const { status, body } = await requestToken(issuer, form, headers);
  expect(status).toBe(200);
  return body;
}

const byCode: Issue = async (issuer, secureKey) => {
  const url = authorizationUrl(issuer, { client_id: full.clientId });
  const code = (await authorizeAsUser(url, alice)).searchParams.get('code') ?? '';
  const form = { grant_type: 'authorization_code', code, redirect_uri: web.redirectUri };
  return ask(issuer, form, asFull(secureKey));
};

const platform = async (issuer: string, request: Record<string, string>): Promise<Tokens> => {
  const { status, body } = await requestPlatformToken(issuer, request);
  expect(status).toBe(200);
  return body;
};

const machine = { grant_type: 'client_credentials' };
const inBody = (secureKey: string) => ({ client_id: full.clientId, client_secret: secureKey });

/** All requests that return tokens for a client secret. */
const ways: Readonly<Record<string, Issue>> = {
  'client_credentials, by Basic': (issuer, key) => ask(issuer, machine, asFull(key)),
  'client_credentials, by body': (issuer, key) => ask(issuer, { ...machine, ...inBody(key) }, {}),
  // The unknown parameter makes the provider answer instead of the fast path.
  'client_credentials, by the provider': (issuer, key) =>
    ask(issuer, { ...machine, unknown: '1' }, asFull(key)),
  'client_credentials, at the platform endpoint': (issuer, key) =>
    platform(issuer, { ...machine, ...inBody(key) }),
  'refresh_token, at the platform endpoint': async (issuer, key) => {
    const { refresh_token = '' } = await platform(issuer, { ...machine, ...inBody(key) });
    return platform(issuer, { ...refreshing(refresh_token), ...inBody(key) });
  },
  password: (issuer, key) => ask(issuer, { grant_type: 'password', ...alice }, asFull(key)),
  authorization_code: byCode,
  refresh_token: async (issuer, key) => {
    const { refresh_token = '' } = await byCode(issuer, full.secureKey);
    return ask(issuer, refreshing(refresh_token), asFull(key));
  },
};

const systems = await startGrantsSystems();

describe.each(systems)('removing a secure key, on $engine', ({ system }) => {
  const identity = openIdentity({ store: system.store, masterKey: system.masterKey });
  let newKey = '';

  afterEach(async () => {
    // Restores the one active key that each test starts with.
    await identity.clients.update(full.clientId, (client) => ({
      ...client,
      keys: [],
    }));
    const client = await identity.clients.find(full.clientId);
    if (client !== undefined) {
      await identity.clients.save(client, full.secureKey);
    }
    await sleep(60);
  });

  /** Adds a second key, and returns the id of the first. */
  async function rotate(): Promise<string> {
    const { client, secureKey } = await identity.clients.rotateKey(full.clientId, {
      replaceOldest: false,
    });
    newKey = secureKey;
    await sleep(60);
    return identity.clients.describeKeys(client)[1]?.keyId ?? '';
  }

  async function expectLive(tokens: Tokens, live: boolean): Promise<void> {
    const asServer = basic(resourceServer.clientId, resourceServer.secureKey);
    for (const issuer of [system.first, system.second]) {
      expect(await isActive(issuer, tokens.access_token, asServer)).toBe(live);
    }
    // The gateway verifies tokens with this function.
    expect((await identity.verifyAccessToken(tokens.access_token)) !== undefined).toBe(live);
  }

  async function refresh({ refresh_token = '' }: Tokens): Promise<unknown> {
    const request = { ...refreshing(refresh_token), ...inBody(newKey) };
    const { status, body } = await requestPlatformToken(system.second, request);
    return body.error ?? status;
  }

  test.each(Object.entries(ways))(
    'revokes tokens that %s issued with it, and none that the other key issued',
    async (_name, issue) => {
      const oldKeyId = await rotate();
      const old = await issue(system.first, full.secureKey);
      const current = await issue(system.first, newKey);
      await expectLive(old, true);

      await identity.clients.removeKey(full.clientId, oldKeyId);
      await sleep(60);
      await expectLive(old, false);
      await expectLive(current, true);
      if (old.refresh_token !== undefined && current.refresh_token !== undefined) {
        expect(await refresh(old)).toBe('invalid_grant');
        expect(await refresh(current)).toBe(200);
      }
    },
  );

  test('revokes tokens for /userinfo', async () => {
    const oldKeyId = await rotate();
    const form = { grant_type: 'password', ...alice, scope: 'openid' };
    const old: Tokens = await ask(system.first, form, asFull(full.secureKey));
    const userinfo = async () =>
      (
        await fetch(`${system.second}/userinfo`, {
          headers: { authorization: `Bearer ${old.access_token}` },
        })
      ).status;
    expect(await userinfo()).toBe(200);
    await identity.clients.removeKey(full.clientId, oldKeyId);
    await sleep(60);
    expect(await userinfo()).toBe(401);
  });

  test('keeps the tokens in a planned rotation, until the key is removed again', async () => {
    const oldKeyId = await rotate();
    const old = await byCode(system.first, full.secureKey);
    const others = await byCode(system.first, full.secureKey);
    await identity.clients.removeKey(full.clientId, oldKeyId, { keepTokens: true });
    await sleep(60);
    await expectLive(old, true);
    expect(await refresh(old)).toBe(200);
    expect((await requestToken(system.first, machine, asFull(full.secureKey))).status).toBe(401);

    await identity.clients.removeKey(full.clientId, oldKeyId);
    await sleep(60);
    await expectLive(others, false);
    expect(await refresh(others)).toBe('invalid_grant');
  });

  test('revokes tokens of a refresh with it, and keeps tokens of a refresh with the other key', async () => {
    const oldKeyId = await rotate();
    const { refresh_token = '' } = await byCode(system.first, newKey);
    const tainted: Tokens = await ask(
      system.first,
      refreshing(refresh_token),
      asFull(full.secureKey),
    );
    const saved = await byCode(system.first, full.secureKey);
    const moved: Tokens = await ask(
      ...([system.first, refreshing(saved.refresh_token ?? ''), asFull(newKey)] as const),
    );
    await identity.clients.removeKey(full.clientId, oldKeyId);
    await sleep(60);
    await expectLive(tainted, false);
    await expectLive(moved, true);
  });

  test('keeps tokens without a key id, from before tokens had one', async () => {
    const oldKeyId = await rotate();
    const { access_token } = await byCode(system.first, full.secureKey);
    const key = `token:${identity.credentialHash(access_token)}`;
    const stored = JSON.parse((await system.store.get(key)) ?? '');
    expect(stored.secureKeyId).toBe(oldKeyId);
    const { secureKeyId: _id, ...earlier } = stored;
    await system.store.set(key, JSON.stringify(earlier), 7200);
    await identity.clients.removeKey(full.clientId, oldKeyId);
    await sleep(60);
    await expectLive({ access_token }, true);
  });

  test('needs only its id, because tokens do not contain the key', async () => {
    const oldKeyId = await rotate();
    const { access_token } = await byCode(system.first, full.secureKey);
    const key = `token:${identity.credentialHash(access_token)}`;
    expect(oldKeyId).toMatch(/^[0-9a-f]{12}$/);
    expect(await system.store.get(key)).not.toContain(full.secureKey);
  });
});
