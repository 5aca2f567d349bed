/** private_key_jwt (RFC 7523) at every endpoint for clients, and every way around it. */

import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { exportJWK, SignJWT } from 'jose';
import { startClientHost } from './client-host.ts';
import { client, DEVICE_GRANT, installation } from './installation.ts';
import { type Fields, linesOf, machineGrant, outcome, startOnEngines } from './server.ts';

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const pairOf = (kid: string) => ({ kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) });
const [first, second, foreign] = [pairOf('one'), pairOf('two'), pairOf('one')];
const publicJwk = async ({ kid, publicKey }: typeof first) => ({
  ...(await exportJWK(publicKey)),
  kid,
});
const redirectUri = 'https://signer.example/callback';
const signer = { clientId: 'signer', redirectUri };
/** It also has a secure key, which signs requests only. */
const both = { clientId: 'both', secureKey: 'bothKey0123456789abcd' };
const keys = [await publicJwk(first), await publicJwk(second)];
const grants = ['client_credentials', 'authorization_code', 'refresh_token', DEVICE_GRANT];

/** The keys of a client that declares their address. */
let published: unknown = { keys: [keys[0]] };
const host = await startClientHost((_call, response) => {
  response.setHeader('Content-Type', 'application/jwk-set+json').end(JSON.stringify(published));
});

const systems = await startOnEngines({
  servers: 2,
  apps: ['authorization-server', 'authorization-server', 'gateway', 'device-service'],
  environment: host.environment,
  bootstrap: {
    ...installation,
    ...host.settings,
    clients: [
      ...installation.clients,
      client({ clientId: 'remote' }, ['client_credentials'], ['device:read'], {
        ...{ public: false, jwksUri: `${host.url}/jwks` },
      }),
      client({ clientId: 'absent' }, ['client_credentials'], ['device:read'], {
        ...{ public: false, jwksUri: 'https://127.0.0.2/jwks' },
      }),
      client(signer, grants, ['device:read', 'openid'], { public: false, jwks: { keys } }),
      client({ clientId: 'inspector' }, ['client_credentials'], [], {
        ...{ public: false, resourceServer: true, jwks: { keys } },
      }),
      client(both, ['client_credentials'], ['device:read'], { jwks: { keys } }),
    ],
  },
});

describe.each(systems)('on $engine', ({ system }) => {
  const { first: server, second: other, identity } = system;

  interface Changes {
    readonly clientId?: string;
    readonly key?: { readonly kid: string; readonly privateKey: KeyObject };
    readonly header?: object;
    readonly claims?: object;
  }
  function assertionOf({ clientId = 'signer', key = first, header, claims }: Changes = {}) {
    const now = Math.floor(Date.now() / 1000);
    const own = { iss: clientId, sub: clientId, aud: server.issuer, jti: randomUUID() };
    return new SignJWT({ ...own, iat: now, nbf: now, exp: now + 60, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: key.kid, ...header })
      .sign(key.privateKey);
  }
  const asserting = async (changes: Changes = {}): Promise<Fields> => ({
    client_assertion: await assertionOf(changes),
    client_assertion_type: TYPE,
  });
  const machine = async (changes: Changes = {}) =>
    server.token({ ...machineGrant, ...(await asserting(changes)) }, {});

  test('authenticates at every endpoint for clients', async () => {
    const issued = await machine();
    expect(issued).toMatchObject({ status: 200, body: { scope: 'device:read' } });
    const signer = await identity.clients.find('signer');
    const [keyId = ''] = signer ? identity.clients.keyIds(signer) : [];
    await until(async () => (await identity.lastUse.ofKey('signer', keyId)) !== undefined);
    const { access_token: token } = issued.body;
    const inspector = await asserting({ clientId: 'inspector' });
    const post = (path: string, fields: Fields) => server.post(path, fields, {});
    const introspected = await post('/introspect', { token, ...inspector });
    expect(introspected.body).toMatchObject({ active: true, client_id: 'signer' });
    const platform = await server.platform({ ...machineGrant, ...(await asserting()) });
    expect(platform.status).toBe(200);
    const pushed = await post('/par', {
      ...(await asserting()),
      ...{ client_id: 'signer', response_type: 'code', redirect_uri: redirectUri, scope: 'openid' },
    });
    expect([pushed.status, pushed.body.error_description]).toEqual([201, undefined]);
    expect((await post('/device/auth', await asserting())).status).toBe(200);
    expect((await post('/revoke', { token, ...(await asserting()) })).status).toBe(200);
    expect(await server.isActive(token)).toBe(false);
  });

  test('authenticates at the token endpoint for codes and refresh tokens', async () => {
    const how = { client_id: 'signer', redirect_uri: redirectUri, scope: 'openid' };
    const code = await server.newCode(how);
    const fields = { redirect_uri: redirectUri, ...(await asserting()) };
    const redeemed = await server.redeem(code, fields, {});
    expect(outcome(redeemed)).toEqual([200, undefined]);
    const refresh = { grant_type: 'refresh_token', refresh_token: redeemed.body.refresh_token };
    expect(outcome(await server.token(refresh, {}))).toEqual([401, 'invalid_client']);
    const again = await server.token({ ...refresh, ...(await asserting({ key: second })) }, {});
    expect(outcome(again)).toEqual([200, undefined]);
  });

  test('accepts an assertion once, whatever the number of servers and requests', async () => {
    const fields = { ...machineGrant, ...(await asserting()) };
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, i) => system.any(i).token(fields, {})),
    );
    const accepted = replies.filter(({ status }) => status === 200);
    const rejected = replies.filter(({ status }) => status === 401);
    expect([accepted.length, rejected.length]).toEqual([1, 7]);
    expect(outcome(await other.token(fields, {}))).toEqual([401, 'invalid_client']);
  });

  const now = () => Math.floor(Date.now() / 1000);
  const rejected: readonly (readonly [string, (url: string) => Changes])[] = [
    ['with a foreign key of a known kid', () => ({ key: foreign })],
    ['with an unknown kid', () => ({ header: { kid: 'three' } })],
    ['without a kid, although the client has two keys', () => ({ header: { kid: undefined } })],
    ['of another server', () => ({ claims: { aud: 'https://other.example' } })],
    ['of several servers', (url) => ({ claims: { aud: [url, 'https://other.example'] } })],
    ['without an audience', () => ({ claims: { aud: undefined } })],
    ['without a jti', () => ({ claims: { jti: undefined } })],
    ['with a number as jti', () => ({ claims: { jti: 7 } })],
    ['without an expiry', () => ({ claims: { exp: undefined } })],
    ['that expired', () => ({ claims: { exp: now() - 60 } })],
    ['that is valid for a day', () => ({ claims: { exp: now() + 86_400 } })],
    ['that is valid forever', () => ({ claims: { exp: 1e15 } })],
    ['that is not valid yet', () => ({ claims: { nbf: now() + 300 } })],
    ['with a list as subject', () => ({ claims: { sub: ['signer'] } })],
    ['with another issuer', () => ({ claims: { iss: 'web' } })],
    ['of an unknown client', () => ({ clientId: 'nobody' })],
    ['of a client with a secret', () => ({ clientId: 'web' })],
    ['of a public client', () => ({ clientId: 'browser-app' })],
  ];
  test.each(rejected)('rejects an assertion %s', async (_name, changes) => {
    const reply = await machine(changes(server.issuer));
    expect(outcome(reply)).toEqual([401, 'invalid_client']);
    expect(reply.body.error_description).toBe('client authentication failed');
  });

  test('rejects an unsigned assertion, and one that is signed with the public key', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const [, payload = ''] = (await assertionOf()).split('.');
    const unsigned = `${part({ alg: 'none' })}.${payload}.`;
    const confused = await new SignJWT(JSON.parse(Buffer.from(payload, 'base64url').toString()))
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(Buffer.from(JSON.stringify(keys[0])));
    for (const client_assertion of [unsigned, confused]) {
      const fields = { ...machineGrant, client_assertion, client_assertion_type: TYPE };
      expect(outcome(await server.token(fields, {}))).toEqual([401, 'invalid_client']);
    }
  });

  test('accepts a clock that differs by some seconds', async () => {
    expect((await machine({ claims: { nbf: now() + 10 } })).status).toBe(200);
    const old = { iat: now() - 60, nbf: now() - 60, exp: now() - 10 };
    expect((await machine({ claims: old })).status).toBe(200);
  });

  test('accepts the token endpoint as audience, for older clients', async () => {
    const aud = [server.issuer, `${server.issuer}/token`];
    expect((await machine({ claims: { aud } })).status).toBe(200);
  });

  test('has no way around it: the secure key only signs requests', async () => {
    const secret = { client_id: both.clientId, client_secret: both.secureKey };
    const authorization = `Basic ${btoa(`${both.clientId}:${both.secureKey}`)}`;
    const ways = [
      server.token({ ...machineGrant, ...secret }, {}),
      server.token(machineGrant, { authorization }),
      server.platform({ ...machineGrant, ...secret }),
      server.token({ ...machineGrant, client_id: both.clientId }, {}),
      server.post('/introspect', { token: 'any', ...secret }, {}),
    ];
    for (const reply of await Promise.all(ways)) {
      expect(outcome(reply)).toEqual([401, 'invalid_client']);
    }
    expect((await machine({ clientId: both.clientId })).status).toBe(200);
  });

  test('belongs in the body, alone', async () => {
    const fields = await asserting();
    const query = await server.post(`/token?${new URLSearchParams(fields)}`, machineGrant, {});
    expect(outcome(query)).toEqual([400, 'invalid_request']);
    const twice = await server.token({ ...machineGrant, ...fields });
    expect(outcome(twice)).toEqual([400, 'invalid_request']);
    const { client_assertion_type: _type, ...untyped } = fields;
    expect(outcome(await server.token({ ...machineGrant, ...untyped }, {}))).toEqual([
      400,
      'invalid_request',
    ]);
    // None of them used it up.
    expect((await server.token({ ...machineGrant, ...fields }, {})).status).toBe(200);
  });

  test('appears in the log by its kind and key, and never by its value', async () => {
    const fields: Fields = { ...machineGrant, ...(await asserting()) };
    const accepted = await server.token(fields, {});
    const replayed = await server.token(fields, {});
    const [line, failure] = await linesOf(system, [accepted, replayed]);
    expect(line).toMatchObject({ clientId: 'signer', credential: 'assertion' });
    expect(failure).toMatchObject({
      ...{ clientId: 'signer', credential: 'assertion', reason: 'client_assertion_wrong' },
      finding: 'client assertion tokens must only be used once',
    });
    const written = system.processes.map((each) => each.output()).join('');
    expect(written).not.toContain(fields.client_assertion?.split('.')[2]);
  });

  test('is verified with keys at an address, through the guard', async () => {
    published = { keys: [keys[0]] };
    const issued = await machine({ clientId: 'remote' });
    expect(outcome(issued)).toEqual([200, undefined]);
    expect(host.calls.at(-1)?.path).toBe('/jwks');
    expect(outcome(await machine({ clientId: 'remote', key: foreign }))[0]).toBe(401);
    // Only the keys of the caller are needed.
    const fields = { token: issued.body.access_token, ...(await asserting()) };
    const calls = host.calls.length;
    expect((await server.post('/introspect', fields, {})).status).toBe(200);
    expect(host.calls).toHaveLength(calls);
    const absent = await machine({ clientId: 'absent' });
    expect(outcome(absent)).toEqual([401, 'invalid_client']);
    const [line] = await linesOf(system, [absent]);
    expect(line?.finding).toContain('jwksUri were not read: the address has an IP address');
    // The tokens belong to the address: another one revokes them.
    await identity.clients.change('remote', (record) => ({
      ...record,
      jwksUri: 'https://other.example/jwks',
    }));
    await until(async () => !(await server.isActive(issued.body.access_token)));
  });

  test('is named by the metadata', async () => {
    const { body } = await server.get('/.well-known/openid-configuration');
    const metadata = JSON.parse(body);
    for (const endpoint of ['token', 'revocation', 'introspection']) {
      expect(metadata[`${endpoint}_endpoint_auth_methods_supported`]).toContain('private_key_jwt');
      const algorithms = metadata[`${endpoint}_endpoint_auth_signing_alg_values_supported`];
      expect(algorithms).toEqual(expect.arrayContaining(['PS256', 'ES256', 'EdDSA']));
      expect(algorithms.filter((name: string) => /^(HS|none)/.test(name))).toEqual([]);
    }
  });

  test('counts failures like wrong secrets', async () => {
    const clientId = 'inspector';
    for (let tries = 0; tries < 50; tries += 1) {
      await machine({ clientId, key: foreign });
    }
    const limited = await machine({ clientId });
    expect(outcome(limited)).toEqual([429, 'too_many_requests']);
  });

  test('revokes the tokens of a key that the client loses', async () => {
    const [kept, lost] = [await machine({ key: first }), await machine({ key: second })];
    const { keyIds, find } = identity.clients;
    const record = await find('signer');
    const [, secondId = ''] = record === undefined ? [] : keyIds(record);
    await identity.clients.removeKey('signer', secondId);
    await until(async () => !(await server.isActive(lost.body.access_token)));
    expect(await server.isActive(kept.body.access_token)).toBe(true);
    const call = (token: string) =>
      fetch(`${system.gatewayUrl}/api/device`, { headers: { authorization: `Bearer ${token}` } });
    const replies = [call(kept.body.access_token), call(lost.body.access_token)];
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 401]);
    expect(outcome(await machine({ key: second }))).toEqual([401, 'invalid_client']);
    // With one key, the header needs to name none.
    expect((await machine({ header: { kid: undefined } })).status).toBe(200);
  });
});
