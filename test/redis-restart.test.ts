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
