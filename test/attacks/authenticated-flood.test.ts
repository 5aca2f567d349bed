// requires: redis-server
/**
 * A client and a user try to fill a small Redis with every kind of record that they can write. A
 * client and a user of another organization continue.
 */
import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { postAs, signatureHeaders, startRedisServer } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';

const ROOM_BYTES = 8_000_000;
const MOST_REQUESTS = 20_000;
const CONNECTIONS = 16;
const redirectUri = 'https://attacked.example/callback';

/** A client with a user, in an organization of their own. */
const party = (name: string) => ({
  client: { clientId: name, secureKey: `${name}Key0123456789abcdefghij`, orgId: `org-of-${name}` },
  user: { username: `user-of-${name}`, password: `a password of ${name}` },
  refreshToken: '',
});
type Party = ReturnType<typeof party>;
const attacker = party('attacker');
const victim = party('victim');
const bootstrap = {
  organizations: [attacker, victim].map(({ client: { orgId } }) => ({ id: orgId, name: orgId })),
  clients: [attacker, victim].map(({ client }) => ({
    ...client,
    name: client.clientId,
    grantTypes: ['authorization_code', 'client_credentials', 'password', 'refresh_token'],
    redirectUris: [redirectUri],
    scopes: ['device:read'],
  })),
  users: [attacker, victim].map(({ user, client: { orgId } }) => ({
    ...user,
    name: user.username,
    orgId,
  })),
};

/** A clock that is fast makes claims live longer. */
let timestamp = Date.now() + 240_000;

const redis = await startRedisServer();
afterAll(redis.stop);
const system = await startSystem({
  engine: 'sqlite',
  bootstrap,
  apps: ['authorization-server', 'gateway'],
  environment: {
    STORE_URL: redis.url,
    CLIENT_REQUESTS_PER_MINUTE: '9999999',
    LOG_LEVEL: 'error',
  },
});
async function usedMemory(): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.command('INFO', 'memory'))?.[1]);
}

function sign({ client }: Party): Promise<Response> {
  timestamp += 1;
  const signature = signatureHeaders(client, '{}', timestamp);
  const headers = { 'content-type': 'application/json', ...signature };
  return fetch(`${system.gatewayUrl}/api/v1/token`, { method: 'POST', headers, body: '{}' });
}

const post = (path: string, { client }: Party, form: Record<string, string>) =>
  postAs(system.authorizationServerUrl + path, client, form);

const issue = (each: Party) => post('/token', each, { grant_type: 'client_credentials' });

async function refresh(
  each: Party,
  form: Record<string, string> = {
    grant_type: 'refresh_token',
    refresh_token: each.refreshToken,
  },
): Promise<Response> {
  const reply = await post('/token', each, form);
  const { refresh_token: successor } = (await reply.clone().json()) as { refresh_token?: string };
  each.refreshToken = successor ?? each.refreshToken;
  return reply;
}

for (const each of [attacker, victim]) {
  await refresh(each, { grant_type: 'password', ...each.user });
}
await redis.command('CONFIG', 'SET', 'maxmemory', String((await usedMemory()) + ROOM_BYTES));

const attacks: Record<string, [limit: string, (each: Party) => Promise<Response>]> = {
  'signed requests': ['signatures', sign],
  'tokens of a machine': ['tokens', issue],
  'tokens of a user': ['tokens', refresh],
  'pushed requests': [
    'stored for',
    (each) =>
      post('/par', each, {
        client_id: each.client.clientId,
        scope: 'device:read',
        response_type: 'code',
        redirect_uri: redirectUri,
        code_challenge: 'c'.repeat(43),
        code_challenge_method: 'S256',
        login_hint: 'x'.repeat(3600),
      }),
  ],
};

describe('a flood of an authenticated client', () => {
  test.each(Object.entries(attacks))(
    'of %s gets 429 before the store is full, and stops no other organization',
    async (_name, [limit, attack]) => {
      let replies: Response[] = [];
      for (let sent = 0; sent < MOST_REQUESTS; sent += CONNECTIONS) {
        replies = await Promise.all(Array.from({ length: CONNECTIONS }, () => attack(attacker)));
        const statuses = new Set(replies.map(({ status }) => status));
        expect([200, 201, 429]).toEqual(expect.arrayContaining([...statuses]));
        if (statuses.has(429)) {
          break;
        }
      }
      const refused = replies.find(({ status }) => status === 429);
      expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await refused?.text()).toContain(limit);
      for (const call of [sign, issue, refresh]) {
        expect([call.name, (await call(victim)).status]).toEqual([call.name, 200]);
      }
    },
  );

  test('is undone for its tokens if the client is revoked', async () => {
    const store = createStore(redis.url);
    const { revocations } = openIdentity({ store, masterKey: system.masterKey });
    const before = await usedMemory();
    await revocations.client(attacker.client.clientId);
    await revocations.deleteTokens(attacker.client.clientId);
    await store.close();
    expect(before - (await usedMemory())).toBeGreaterThan(ROOM_BYTES / 10);
  });
});
