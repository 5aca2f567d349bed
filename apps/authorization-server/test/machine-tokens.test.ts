// requires: redis-server
/** The fast path of client_credentials, and the revocation of a machine. */

import { clientRecordsKey } from '@gatehouse/identity';
import { basic, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import {
  browserApp,
  disabled,
  machine,
  noRefresh,
  odd,
  resourceServer,
  web,
} from './installation.ts';
import { as, type Fields, machineGrant, outcome, startOnEngines } from './server.ts';

const GRANT = 'grant_type=client_credentials';
/** The provider ignores this parameter, and the fast path leaves the request to the provider. */
const LONG_WAY = '&unknown=1';
const FORM = 'application/x-www-form-urlencoded';
const webBasic = basic(web.clientId, web.secureKey);
const inBody = `${GRANT}&client_id=web&client_secret=${web.secureKey}`;
const wrongKey = 'wrongKey0123456789abc';

interface Variant {
  readonly authorization?: string;
  readonly body?: string;
  readonly headers?: Fields;
  readonly query?: string;
}

const authorized = (variant: Variant): Variant => ({ authorization: webBasic, ...variant });
const withScope = (scope: string) => authorized({ body: `${GRANT}&scope=${scope}` });

const variants: Readonly<Record<string, Variant>> = {
  Basic: authorized({}),
  'Basic in lower case': { authorization: webBasic.replace('Basic', 'basic') },
  'Basic and an id': authorized({ body: `${GRANT}&client_id=web` }),
  'Basic and another id': authorized({ body: `${GRANT}&client_id=other` }),
  'Basic and a secret': authorized({ body: inBody }),
  'Basic that is encoded': as(odd),
  'Basic with a wrong secret': { authorization: basic('web', wrongKey) },
  'Basic with a secret and NUL': { authorization: basic('web', `${web.secureKey}\0`) },
  'Basic of nobody': { authorization: basic('nobody', wrongKey) },
  'Basic without padding': { authorization: webBasic.replace(/=+$/, '') },
  'Basic that is none': { authorization: 'Basic %%%' },
  'a bearer token': { authorization: 'Bearer x' },
  'a secret in the body': { body: inBody },
  'a wrong secret in the body': { body: `${inBody}x` },
  'an id alone': { body: `${GRANT}&client_id=web` },
  nothing: {},
  'a public client': { body: `${GRANT}&client_id=${browserApp.clientId}` },
  'a public client with a secret': { authorization: basic(browserApp.clientId, 'x'.repeat(20)) },
  'a disabled client': as(disabled),
  'a client without the grant': as(noRefresh),
  'a client without scopes': as(resourceServer),
  'one scope': withScope('device:log'),
  'two scopes': withScope('device%3Alog+device%3Aread'),
  'one scope twice': withScope('device:log+device:log'),
  'an empty scope': withScope(''),
  'two blanks between scopes': withScope('device:log++device:read'),
  'a blank before a scope': withScope('+device:log'),
  'an unknown scope': withScope('device:fly'),
  'a scope that needs a user': withScope('openid'),
  'a scope twice': withScope('device:log&scope=device:read'),
  'a grant twice': authorized({ body: `${GRANT}&${GRANT}` }),
  'no grant': authorized({ body: 'scope=device:log' }),
  'an empty grant': authorized({ body: 'grant_type=' }),
  'another case': authorized({ body: 'grant_type=Client_Credentials' }),
  'another charset': authorized({ headers: { 'content-type': `${FORM}; charset=utf-16` } }),
  'a charset': authorized({ headers: { 'content-type': `${FORM};charset=UTF-8` } }),
  JSON: authorized({ headers: { 'content-type': 'application/json' } }),
  'a foreign origin': authorized({ headers: { origin: 'https://evil.example' } }),
  'a page that wants HTML': authorized({ headers: { accept: 'text/html' } }),
  'an attestation': authorized({ headers: { 'oauth-client-attestation': 'a.b.c' } }),
  'a DPoP proof': authorized({ headers: { dpop: 'a.b.c' } }),
  'a query': authorized({ query: '?x=1' }),
  'a secret in the address': authorized({ query: '?client_secret=x' }),
};

const systems = await startOnEngines();

describe.each(systems)('on $engine', ({ system }) => {
  const { introspect, isActive, platform, post, token } = system.first;

  async function ask({ body = GRANT, query = '', ...variant }: Variant, suffix = '') {
    const authorization = variant.authorization && { authorization: variant.authorization };
    const reply = await post(`/token${query}`, body + suffix, {
      'content-type': FORM,
      ...authorization,
      ...variant.headers,
    });
    const headers = Object.fromEntries(reply.headers);
    // These members differ between any two replies.
    for (const name of ['date', 'x-request-id', 'ratelimit', 'keep-alive']) {
      delete headers[name];
    }
    const { access_token: issued, ...rest } = reply.body;
    return { issued, told: { status: reply.status, headers, rest, length: issued?.length } };
  }

  test.each(Object.entries(variants))(
    'the fast path answers %s as the provider does',
    async (_name, variant) => {
      expect((await ask(variant)).told).toEqual((await ask(variant, LONG_WAY)).told);
    },
  );

  test('the fast path issues the same kind of token as the provider', async () => {
    const [short, long] = [await ask(authorized({})), await ask(authorized({}), LONG_WAY)];
    const timeless = { iat: expect.any(Number), exp: expect.any(Number) };
    const told = await introspect(short.issued);
    expect(told).toEqual({ ...(await introspect(long.issued)), ...timeless });
    expect([told.active, told.client_id, told.exp - told.iat]).toEqual([true, 'web', 7200]);
  });

  test('the fast path logs the client and the credential type, and no secret or token', async () => {
    const { issued } = await ask({ body: inBody });
    const output = await system.outputWith(
      /"status":200,[^\n]*"operation":"token","clientId":"web","credential":"body"/,
    );
    expect([issued, web.secureKey].filter((secret) => output.includes(secret))).toEqual([]);
  });

  test('the revocation of a machine deletes its tokens, and answers 503 until new ones are valid', async () => {
    const asMachine = as(machine);
    const { revocations } = system.identity;
    const records = async () => {
      const shards = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];
      const indexes = shards.map((shard) => clientRecordsKey(machine.clientId, `${shard}.`));
      const keys = (await Promise.all(indexes.map((key) => system.store.members(key)))).flat();
      const found = await Promise.all(keys.map((key) => system.store.get(key)));
      return found.filter((record) => record !== undefined).length;
    };
    const issue = () => token(machineGrant, asMachine);
    const { body } = await issue();
    await platform(machineGrant, asMachine);
    expect(await records()).toBeGreaterThan(1);

    await revocations.client(machine.clientId);
    await revocations.deleteTokens(machine.clientId);
    expect(await records()).toBe(0);
    // The server's copy of the client is at most 50 ms old.
    await until(async () => (await issue()).status === 503);
    let reply = await issue();
    while (reply.status !== 200) {
      expect(outcome(reply)).toEqual([503, 'temporarily_unavailable']);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      reply = await issue();
    }
    expect(await isActive(reply.body.access_token)).toBe(true);
    expect(await isActive(body.access_token)).toBe(false);
  });
});
