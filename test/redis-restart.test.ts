// requires: redis-server
/** Acknowledged writes survive a restart of Redis with the configuration of the containers. */
import { readFileSync } from 'node:fs';
import { createStore, NEVER_EXPIRES, type Store } from '@gatehouse/store';
import {
  authorizeAsUser,
  basic,
  type Constellation,
  createPageVisitor,
  type PageVisitor,
  startConstellation,
  until,
} from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type ContainerRedis, startContainerRedis } from './container-redis.ts';

let redis: ContainerRedis;
afterEach(() => redis.stop());

/**
 * The former ACL file, from before the rights of `default` mattered when Redis loads its
 * append-only file.
 */
function restrictedDefaultUser(aclFile: string): string {
  // The former user of the store could not run ACL DRYRUN. The former file had no user `health`,
  // but the test needs it.
  const kept = aclFile
    .replace(' +acl|dryrun', '')
    .split('\n')
    .filter((line) => /^user (gatehouse|health) /.test(line));
  return `user default on nopass resetchannels resetkeys -@all +ping\n${kept.join('\n')}\n`;
}

async function write(store: Store): Promise<void> {
  const inAnHour = Date.now() + 3_600_000;
  await store.set('value', 'kept', 600);
  await store.claim('claimed', 'first', 600);
  for (const member of ['first', 'second']) {
    await store.increment('counter', 600);
    await store.addToIndex('expiring-index', member, inAnHour);
    await store.addToIndex('lasting-index', member, NEVER_EXPIRES);
    await store.append('log', [member], 100);
  }
}

async function contents(store: Store) {
  const counter = await store.increment('counter', 600, 0);
  return {
    value: await store.get('value'),
    claimed: await store.get('claimed'),
    count: counter.count,
    countsForMinutes: Math.round((counter.resetsAt - Date.now()) / 60_000),
    expiring: await store.members('expiring-index'),
    lasting: await store.members('lasting-index'),
    log: await store.read('log', 100),
  };
}

const everything = {
  value: 'kept',
  claimed: 'first',
  count: 2,
  countsForMinutes: 10,
  expiring: ['first', 'second'],
  lasting: ['first', 'second'],
  log: ['second', 'first'],
};

describe('a restart of Redis', () => {
  test('keeps values, claims, counters with their lifetimes, indexes and the audit trail', async () => {
    redis = await startContainerRedis();
    const store = createStore(redis.storeUrl);
    try {
      await write(store);
      for (let restart = 0; restart < 2; restart += 1) {
        await redis.server.restart();
        await until(() => store.ping());
        expect(await contents(store)).toEqual(everything);
      }
    } finally {
      await store.close();
    }
  });

  test('restores the data of an installation with the former users after its secrets are renewed', async () => {
    redis = await startContainerRedis(restrictedDefaultUser);
    const passwords = readFileSync(redis.aclFile, 'utf8').match(/#[0-9a-f]{64}/g);
    const store = createStore(redis.storeUrl);
    try {
      await write(store);
      redis.makeSecrets();
      await redis.server.restart();
      await until(() => store.ping());
      expect(await contents(store)).toEqual(everything);
      // The apps continue to use their password.
      expect(readFileSync(redis.aclFile, 'utf8')).toContain(passwords?.[0]);
    } finally {
      await store.close();
    }
  });
});

const client = { clientId: 'web', secureKey: 'restartKey0123456789ab' };
const redirectUri = 'https://app.example/callback';
const alice = { username: 'alice', password: 'correct horse battery' };
const bootstrap = {
  organizations: [{ id: 'org-1', name: 'One' }],
  clients: [
    {
      ...client,
      name: 'Example web application',
      orgId: 'org-1',
      scopes: ['device:read'],
      grantTypes: ['authorization_code', 'refresh_token'],
      redirectUris: [redirectUri],
    },
  ],
  users: [{ ...alice, name: 'Alice', orgId: 'org-1' }],
};

describe('after a restart of Redis', () => {
  test('revocation, replay detection and the account page work for earlier tokens', async () => {
    redis = await startContainerRedis();
    const { storeUrl, server } = redis;
    const engine = { storeUrl, storedText: async () => '', stop: async () => undefined };
    const system = await startConstellation({ engine, bootstrap });
    try {
      const accountUrl = `${system.authorizationServerUrl}/account`;
      const visitor = createPageVisitor();
      const first = await signIn(system, visitor);
      const second = await signIn(system, visitor);
      expect([await callWith(system, first), await callWith(system, second)]).toEqual([200, 200]);

      await server.restart();
      // Each server connects again by itself.
      await until(async () => (await callWith(system, first)) !== 503);
      await until(async () => (await visitor.get(accountUrl)).status !== 503);
      expect([await callWith(system, first), await callWith(system, second)]).toEqual([200, 200]);
      const page = await visitor.get(accountUrl);
      expect([page.status, page.body]).toEqual([200, expect.stringContaining(bootstrapName)]);

      const revoked = await post(system, '/revoke', { token: first.refresh_token });
      expect([revoked.status, await callWith(system, first)]).toEqual([200, 401]);
      const replayed = await redeem(system, second.code);
      expect([replayed.status, await callWith(system, second)]).toEqual([400, 401]);
    } finally {
      await system.stop();
    }
  });
});

const bootstrapName = 'Example web application';

type Tokens = { readonly code: string; access_token: string; refresh_token: string };

function post(system: Constellation, path: string, parameters: Record<string, string>) {
  return fetch(`${system.authorizationServerUrl}${path}`, {
    method: 'POST',
    headers: { authorization: basic(client.clientId, client.secureKey) },
    body: new URLSearchParams(parameters),
  });
}

function redeem(system: Constellation, code: string): Promise<Response> {
  return post(system, '/token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
  });
}

async function signIn(system: Constellation, visitor: PageVisitor): Promise<Tokens> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    scope: 'device:read',
  });
  const url = `${system.authorizationServerUrl}/authorize?${query}`;
  const code = (await authorizeAsUser(url, alice, visitor)).searchParams.get('code') ?? '';
  return { ...((await (await redeem(system, code)).json()) as Tokens), code };
}

async function callWith(system: Constellation, tokens: Tokens): Promise<number> {
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  const reply = await fetch(`${system.gatewayUrl}/api/device`, { headers });
  await reply.arrayBuffer();
  return reply.status;
}
