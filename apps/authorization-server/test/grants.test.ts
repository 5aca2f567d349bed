// requires: redis-server
/** The password grant, and the platform endpoint (Method C). */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { clientRecordsKey } from '@gatehouse/identity';
import { basic, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import {
  alice,
  blocked,
  browserApp,
  disabled,
  full,
  machine,
  noRefresh,
  odd,
  olga,
  own,
  resourceServer,
  web,
} from './installation.ts';
import {
  as,
  asWeb,
  type Fields,
  machineGrant,
  outcome,
  type Reply,
  refreshing,
  startOnEngines,
} from './server.ts';

const systems = await startOnEngines();
const { system } = systems[0] as (typeof systems)[0];
const { isActive, issuer, platform, post, token, userinfo } = system.first;
const asFull = as(full);
const OPAQUE = expect.stringMatching(/^[\w-]{43}$/);

describe('the password grant', () => {
  const signIn = (fields: Fields, headers = asFull) =>
    token({ grant_type: 'password', ...fields }, headers);

  test('returns tokens with the scope of the client, and an ID token', async () => {
    const { status, body } = await signIn(alice);
    expect([status, body]).toEqual([
      200,
      {
        ...{ access_token: OPAQUE, refresh_token: OPAQUE, id_token: expect.any(String) },
        ...{ token_type: 'Bearer', expires_in: 7200 },
        scope: 'device:read device:write device:log openid profile',
      },
    ]);
    const claims = decodeJwt(body.id_token);
    expect(claims).toMatchObject({ iss: issuer, aud: full.clientId, sub: expect.any(String) });
    expect(JSON.stringify(claims)).not.toContain('alice');
    expect((await userinfo(body.access_token)).claims).toMatchObject({
      sub: claims.sub,
      preferred_username: alice.username,
    });
    const refreshed = await token(refreshing(body.refresh_token), asFull);
    expect([refreshed.status, refreshed.body.scope]).toEqual([200, body.scope]);
  });

  test('answers every failed sign-in the same', async () => {
    const wrong = 'a wrong password';
    const replies = await Promise.all([
      signIn({ ...alice, password: wrong }),
      signIn({ username: 'nobody', password: wrong }),
      signIn(blocked),
      signIn({ ...alice, password: `${alice.password} ` }),
      signIn({ ...alice, password: `${alice.password}\0` }),
      signIn({ ...alice, password: 'x'.repeat(1024) }),
      // Users of other organizations than that of the client.
      signIn(alice, as(own)),
      signIn({ ...olga, password: wrong }, as(own)),
    ]);
    for (const reply of replies) {
      expect([...outcome(reply), reply.body]).toEqual([400, 'invalid_grant', replies[0]?.body]);
    }
    const { status, body } = await signIn(olga, as(own));
    expect([status, body.scope, body.refresh_token]).toEqual([200, 'device:read', undefined]);
  });

  test('knows a user by every form of the name that Unicode considers equal', async () => {
    expect((await signIn({ ...alice, username: 'ａｌｉｃｅ' })).status).toBe(200);
    expect((await signIn({ ...alice, username: 'alice.' })).status).toBe(400);
  });

  test.each<[string, number, string, Fields, Fields?]>([
    ['no password', 400, 'invalid_request', { username: 'alice' }],
    ['no username', 400, 'invalid_request', { password: alice.password }],
    ['an empty password', 400, 'invalid_request', { ...alice, password: '' }],
    ['a password over the limit', 400, 'invalid_request', { ...alice, password: 'x'.repeat(1025) }],
    ['a huge password', 413, 'invalid_request', { ...alice, password: 'x'.repeat(1024 * 1024) }],
    ['a scope that is not allowed', 400, 'invalid_scope', { ...alice, scope: 'device:report' }],
    ['a client without the grant', 400, 'unauthorized_client', alice, asWeb],
    ['a public client', 400, 'unauthorized_client', { ...alice, client_id: 'player' }, {}],
  ])('rejects %s before hashing', async (_what, status, error, fields, ...[headers]) => {
    expect(outcome(await signIn(fields, headers))).toEqual([status, error]);
  });

  test('rejects two passwords', async () => {
    const form = new URLSearchParams({ grant_type: 'password', ...alice, password: 'x' });
    const headers = { ...asFull, 'content-type': 'application/x-www-form-urlencoded' };
    expect((await post('/token', `${form}&password=y`, headers)).status).toBe(400);
  });
});

describe('the platform endpoint', () => {
  const inBody = { client_id: machine.clientId, client_secret: machine.secureKey };
  const grant = { ...machineGrant, ...inBody };
  const asForm = { 'content-type': 'application/x-www-form-urlencoded' };

  function expectTokenHeaders({ headers }: Reply) {
    const names = ['content-type', 'cache-control', 'pragma', 'access-control-allow-origin'];
    expect(names.map((name) => headers.get(name)?.toLowerCase())).toEqual([
      ...['application/json;charset=utf-8', 'no-store', 'no-cache', undefined],
    ]);
  }

  test('returns a bare reply with a refresh token, for JSON and for a form, and logs no secret', async () => {
    const replies = [
      await platform(grant),
      await platform(String(new URLSearchParams(grant)), asForm),
    ];
    for (const reply of replies) {
      expectTokenHeaders(reply);
      expect([reply.status, reply.body]).toEqual([
        200,
        {
          ...{ access_token: OPAQUE, refresh_token: OPAQUE },
          ...{ token_type: 'Bearer', expires_in: 7200, scope: 'device:read device:write' },
        },
      ]);
      expect(await isActive(reply.body.access_token)).toBe(true);
      expect(await isActive(reply.body.refresh_token)).toBe(true);
    }
    const output = await system.outputWith('"operation":"platform-token"');
    const tokens = replies.flatMap(({ body }) => [body.access_token, body.refresh_token]);
    expect([...tokens, machine.secureKey].filter((secret) => output.includes(secret))).toEqual([]);
  });

  test('reads the credentials from the body or from Basic, and rejects both', async () => {
    const { clientId: client_id } = machine;
    expect((await platform(machineGrant, as(machine))).status).toBe(200);
    expect((await platform({ ...machineGrant, client_id }, as(machine))).status).toBe(200);
    expect(outcome(await platform(grant, as(machine)))).toEqual([400, 'invalid_request']);
    // An empty secret in Basic is a missing one.
    const empty = { authorization: `Basic ${btoa(`${client_id}:`)}` };
    for (const reply of [
      await platform(machineGrant, empty),
      await platform(`grant_type=${machineGrant.grant_type}`, { ...empty, ...asForm }),
      await platform({ ...grant, client_secret: 'a wrong secret 01' }),
    ]) {
      expect(outcome(reply)).toEqual([401, 'invalid_client']);
      expect(reply.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
      expect(reply.body.error_description).toBe('client authentication failed');
    }
  });

  test('ignores unknown members, and returns no refresh token to a client without the grant', async () => {
    const extra = { expires_in: 99_999_999, sub: 'admin', role: ['admin'], audience: {} };
    const { status, body } = await platform({ ...grant, ...extra, scope: null });
    expect([status, body.expires_in, body.scope]).toEqual([200, 7200, 'device:read device:write']);
    const ofOdd = await platform(machineGrant, as(odd));
    expect([ofOdd.status, ofOdd.body.refresh_token]).toEqual([200, undefined]);
  });

  /** The error has the members that both kinds of client read. */
  function expectFailure(reply: Reply, status: number, error: string, code = 'illegal_argument') {
    const { error_description: message } = reply.body;
    expect([reply.status, reply.body]).toEqual([
      status,
      {
        error,
        error_description: expect.any(String),
        status,
        code,
        message,
        timestamp: expect.any(Number),
      },
    ]);
    expectTokenHeaders(reply);
  }

  test.each([
    ['text that is cut off', '{"grant_type":"client_cre'],
    ['trailing data', '{} {}'],
    ['NaN', '{"a":NaN}'],
    ['a comment', '{/* */}'],
    ['nothing', ''],
    ['an array', '[{}]'],
    ['null', 'null'],
    ['a string', '"grant_type=client_credentials"'],
    ['a number', '1'],
    ['a repeated name', '{"client_id":"a","client_id":"b"}'],
    ['a repeated name in an escape', '{"client_id":"a","client\\u005fid":"b"}'],
    ['a nesting of 10 000', '['.repeat(10_000) + ']'.repeat(10_000)],
    ['a credential that is no string', JSON.stringify({ ...grant, client_secret: ['x'] })],
    ['a grant_type that is no string', JSON.stringify({ ...grant, grant_type: 1 })],
    ['no grant_type', JSON.stringify(inBody)],
  ])('rejects %s', async (_what, body) => {
    expectFailure(await platform(body), 400, 'invalid_request');
  });

  test.each<[number, string, string, object, Fields?]>([
    [415, 'invalid_request', 'unsupported_media_type', grant, { 'content-type': 'text/plain' }],
    [
      415,
      'invalid_request',
      'unsupported_media_type',
      grant,
      { 'content-type': 'application/xml' },
    ],
    [
      415,
      'invalid_request',
      'unsupported_media_type',
      grant,
      { 'content-type': 'multipart/form-data; boundary=x' },
    ],
    [401, 'invalid_client', 'unauthorized', { ...grant, client_secret: 'a wrong secret 01' }],
    [400, 'invalid_grant', 'illegal_argument', { ...inBody, ...refreshing('unknown') }],
    [
      400,
      'unsupported_grant_type',
      'illegal_argument',
      { ...grant, grant_type: 'password', ...alice },
    ],
    [400, 'unsupported_grant_type', 'illegal_argument', { ...grant, grant_type: 'implicit' }],
    [400, 'unsupported_grant_type', 'illegal_argument', { ...grant, grant_type: 'nonsense' }],
  ])('rejects with %d %s and %s', async (status, error, code, body, ...[headers]) => {
    expectFailure(await platform(body, headers), status, error, code);
  });

  test('rejects a large body, before it arrives and without Content-Length', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': 1024 * 1024 };
    const url = `${issuer}/platform/oauth2/token`;
    const outgoing = httpRequest(url, { method: 'POST', headers });
    outgoing.flushHeaders();
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    const reply = {
      status: incoming.statusCode ?? 0,
      headers: new Headers(incoming.headers as Record<string, string>),
      body: JSON.parse(await text(incoming)),
    };
    outgoing.destroy();
    expectFailure(reply, 413, 'invalid_request', 'payload_too_large');
    const streamed = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Blob([`{"a":"${'x'.repeat(80_000)}"}`]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(streamed.status).toBe(413);
  });

  test('rejects secrets in the URL, and calls from browsers', async () => {
    expect((await post('/platform/oauth2/token?client_secret=x', {}, {})).status).toBe(400);
    const headers = { origin: 'https://app.example' };
    const reply = await fetch(`${issuer}/platform/oauth2/token`, { method: 'OPTIONS', headers });
    expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([405, null]);
  });
});

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
