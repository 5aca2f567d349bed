// requires: redis-server
import { randomBytes } from 'node:crypto';
import { clientRecordsKey, openIdentity } from '@gatehouse/identity';
import {
  type Constellation,
  integrationEngines,
  startConstellation,
  until,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  basic,
  bootstrap,
  browserApp,
  odd,
  requestToken,
  resourceServer,
  web,
} from './fixtures.ts';
import {
  isActive,
  other,
  outcome,
  requestPlatformToken,
  startGrantsSystem,
  startGrantsSystems,
} from './grants-fixtures.ts';

const GRANT = 'grant_type=client_credentials';
/** The provider ignores this parameter, and the fast path leaves the request to the provider. */
const LONG_WAY = '&unknown=1';
const asWeb = basic(web.clientId, web.secureKey);
const noGrant = { clientId: 'no-grant', secureKey: 'noGrantKey0123456789' } as const;

interface Variant {
  readonly authorization?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
}

const secretInBody = `${GRANT}&client_id=web&client_secret=${web.secureKey}`;
const variants: Readonly<Record<string, Variant>> = {
  Basic: { authorization: asWeb },
  'Basic in lower case': { authorization: asWeb.replace('Basic', 'basic') },
  'Basic and an id': { authorization: asWeb, body: `${GRANT}&client_id=web` },
  'Basic and another id': { authorization: asWeb, body: `${GRANT}&client_id=other` },
  'Basic and a secret': { authorization: asWeb, body: secretInBody },
  'Basic that is encoded': { authorization: basic(odd.clientId, odd.secureKey) },
  'Basic with a wrong secret': { authorization: basic('web', 'wrongKey0123456789abc') },
  'Basic with a secret and NUL': { authorization: basic('web', `${web.secureKey}\0`) },
  'Basic of nobody': { authorization: basic('nobody', 'wrongKey0123456789abc') },
  'Basic without padding': { authorization: asWeb.replace(/=+$/, '') },
  'Basic that is none': { authorization: 'Basic %%%' },
  'a bearer token': { authorization: 'Bearer x' },
  'a secret in the body': { body: secretInBody },
  'a wrong secret in the body': { body: `${secretInBody}x` },
  'an id alone': { body: `${GRANT}&client_id=web` },
  nothing: {},
  'a public client': { body: `${GRANT}&client_id=${browserApp.clientId}` },
  'a public client with a secret': { authorization: basic(browserApp.clientId, 'x'.repeat(20)) },
  'a disabled client': { authorization: basic('disabled', 'disabledKey0123456789') },
  'a client without the grant': { authorization: basic(noGrant.clientId, noGrant.secureKey) },
  'a client without scopes': {
    authorization: basic(resourceServer.clientId, resourceServer.secureKey),
  },
  'one scope': { authorization: asWeb, body: `${GRANT}&scope=device:log` },
  'two scopes': { authorization: asWeb, body: `${GRANT}&scope=device%3Alog+device%3Aread` },
  'one scope twice': { authorization: asWeb, body: `${GRANT}&scope=device:log+device:log` },
  'an empty scope': { authorization: asWeb, body: `${GRANT}&scope=` },
  'two blanks between scopes': {
    authorization: asWeb,
    body: `${GRANT}&scope=device:log++device:read`,
  },
  'a blank before a scope': { authorization: asWeb, body: `${GRANT}&scope=+device:log` },
  'an unknown scope': { authorization: asWeb, body: `${GRANT}&scope=device:fly` },
  'a scope that needs a user': { authorization: asWeb, body: `${GRANT}&scope=openid` },
  'a scope twice': { authorization: asWeb, body: `${GRANT}&scope=device:log&scope=device:read` },
  'a grant twice': { authorization: asWeb, body: `${GRANT}&${GRANT}` },
  'no grant': { authorization: asWeb, body: 'scope=device:log' },
  'an empty grant': { authorization: asWeb, body: 'grant_type=' },
  'another case': { authorization: asWeb, body: 'grant_type=Client_Credentials' },
  'another charset': {
    authorization: asWeb,
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-16' },
  },
  'a charset': {
    authorization: asWeb,
    headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
  },
  JSON: { authorization: asWeb, headers: { 'content-type': 'application/json' } },
  'a foreign origin': { authorization: asWeb, headers: { origin: 'https://evil.example' } },
  'a page that wants HTML': { authorization: asWeb, headers: { accept: 'text/html' } },
  'an attestation': { authorization: asWeb, headers: { 'oauth-client-attestation': 'a.b.c' } },
  'a DPoP proof': { authorization: asWeb, headers: { dpop: 'a.b.c' } },
  'a query': { authorization: asWeb, query: '?x=1' },
  'a secret in the address': { authorization: asWeb, query: '?client_secret=x' },
};

describe.each(integrationEngines)('the fast path of client_credentials on %s', (engine) => {
  let system: Constellation;

  beforeAll(async () => {
    const withoutGrant = {
      ...noGrant,
      name: 'No grant',
      orgId: 'org-1',
      grantTypes: ['authorization_code'],
      redirectUris: ['https://x.example/callback'],
      scopes: ['device:read'],
    };
    system = await startConstellation({
      engine,
      bootstrap: { ...bootstrap, clients: [...bootstrap.clients, withoutGrant] },
      apps: ['authorization-server'],
    });
  });
  afterAll(() => system.stop());

  async function ask({ authorization, body = GRANT, headers, query = '' }: Variant, suffix = '') {
    const reply = await fetch(`${system.authorizationServerUrl}/token${query}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(authorization === undefined ? {} : { authorization }),
        ...headers,
      },
      body: body + suffix,
    });
    const answer = (await reply.json()) as Record<string, unknown>;
    const named = Object.fromEntries(reply.headers);
    // These members differ between any two replies.
    for (const name of ['date', 'x-request-id', 'ratelimit', 'keep-alive']) {
      delete named[name];
    }
    const { access_token: token, ...rest } = answer;
    return { status: reply.status, headers: named, rest, tokenLength: String(token).length, token };
  }

  async function introspect(token: unknown) {
    const reply = await fetch(`${system.authorizationServerUrl}/introspect`, {
      method: 'POST',
      headers: { authorization: asWeb },
      body: new URLSearchParams({ token: String(token) }),
    });
    return (await reply.json()) as Record<string, unknown>;
  }

  test.each(Object.entries(variants))('answers %s as the provider does', async (_name, variant) => {
    const { token: _short, ...short } = await ask(variant);
    const { token: _long, ...long } = await ask(variant, LONG_WAY);
    expect(short).toEqual(long);
  });

  test('issues the same kind of token, which introspection knows and revocation ends', async () => {
    const short = await introspect((await ask({ authorization: asWeb })).token);
    const { token } = await ask({ authorization: asWeb }, LONG_WAY);
    const long = await introspect(token);
    const timeless = { iat: expect.any(Number), exp: expect.any(Number) };
    expect(short).toEqual({ ...long, ...timeless });
    expect(short).toMatchObject({ active: true, client_id: web.clientId });
    expect(Number(short.exp) - Number(short.iat)).toBe(7200);
  });

  test('logs the client and the credential type, and no secret or token', async () => {
    const { token } = await ask({ body: secretInBody });
    const output = await system.outputWith(
      /"status":200,[^\n]*"operation":"token","clientId":"web","credential":"body"/,
    );
    for (const secret of [String(token), web.secureKey]) {
      expect(output).not.toContain(secret);
    }
  });
});

const systems = await startGrantsSystems({}, 1);

describe.each(systems)('the revocation of a machine on $engine', ({ system }) => {
  const asOther = { authorization: basic(other.clientId, other.secureKey) };
  const machine = { grant_type: 'client_credentials' };
  const issue = () => requestToken(system.first, machine, asOther);

  test('answers 503 until new tokens are valid, and deletes the revoked ones', async () => {
    const { revocations } = openIdentity({ store: system.store, masterKey: randomBytes(32) });
    const records = async () => {
      const shards = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];
      const indexes = shards.map((shard) => clientRecordsKey(other.clientId, `${shard}.`));
      const keys = (await Promise.all(indexes.map((key) => system.store.members(key)))).flat();
      const found = await Promise.all(keys.map((key) => system.store.get(key)));
      return found.filter((record) => record !== undefined).length;
    };
    const { body } = await issue();
    const { refresh_token: refreshToken } = (
      await requestPlatformToken(system.first, {
        ...machine,
        client_id: other.clientId,
        client_secret: other.secureKey,
      })
    ).body;
    expect(typeof refreshToken).toBe('string');
    const before = await records();
    expect(before).toBeGreaterThan(1);

    await revocations.client(other.clientId);
    await revocations.deleteTokens(other.clientId);
    expect(await records()).toBe(0);
    // The server's copy of the client is at most 50 ms old.
    await until(async () => (await issue()).status === 503);
    let reply = await issue();
    while (reply.status !== 200) {
      expect([...outcome(reply), Number(reply.headers.get('retry-after')) > 0]).toEqual([
        503,
        'temporarily_unavailable',
        true,
      ]);
      reply = await issue();
    }
    expect(await isActive(system.first, reply.body.access_token, asOther.authorization)).toBe(true);
    expect(await isActive(system.first, body.access_token, asOther.authorization)).toBe(false);
  });
});

const strict = await startGrantsSystem('sqlite', { SECURITY_PROFILE: 'strict' });

test('A machine with a full budget of the store does not lose its refresh token', async () => {
  const { first, second, store } = strict;
  const request = (server: string, form: Record<string, string>) =>
    requestPlatformToken(server, {
      ...form,
      client_id: other.clientId,
      client_secret: other.secureKey,
    });
  const { refresh_token } = (await request(first, { grant_type: 'client_credentials' })).body;
  const counter = `rate:machine-Grant-of-client:${other.clientId}`;
  await store.increment(counter, 60, 2 ** 50);
  // The first server now knows that the budget is full.
  expect((await request(first, { grant_type: 'client_credentials' })).status).toBe(429);
  const form = { grant_type: 'refresh_token', refresh_token };
  const refused = await request(first, form);
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
  await store.delete([counter]);
  expect((await request(second, form)).status).toBe(200);
});
