// requires: redis-server
/** SECURITY_PROFILE=strict. */

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { newPkce } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt, SignJWT } from 'jose';
import { recordKey } from '../src/provider/oidc-adapter.ts';
import {
  alice,
  browserApp,
  carol,
  client,
  full,
  implicitApp,
  installation,
  machine,
  rp,
  web,
} from './installation.ts';
import { as, type Fields, machineGrant, outcome, refreshing, startOnEngines } from './server.ts';

const asFull = as(full);
const { verifier, pkce } = newPkce();
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const keys = [publicKey.export({ format: 'jwk' })];
const systems = await startOnEngines({
  servers: 2,
  bootstrap: {
    ...installation,
    clients: [
      ...installation.clients,
      client({ clientId: 'signer' }, ['client_credentials'], ['device:read'], {
        ...{ public: false, jwks: { keys } },
      }),
    ],
  },
  environment: { SECURITY_PROFILE: 'strict' },
});

describe.each(systems)('the strict profile on $engine', ({ system }) => {
  const { authorize, get, isActive, newCode, platform, redeem, token, userinfo } = system.first;

  test('has neither the password grant nor the implicit flow', async () => {
    const password = await token({ grant_type: 'password', ...alice }, asFull);
    expect(outcome(password)).toEqual([400, 'unsupported_grant_type']);
    const ofRp = { client_id: rp.clientId, redirect_uri: rp.redirectUris[1] };
    const ofImplicit = {
      client_id: implicitApp.clientId,
      redirect_uri: implicitApp.redirectUri,
    };
    for (const parameters of [{}, ofRp, ofImplicit] as Fields[]) {
      const { location } = await authorize({ ...parameters, response_type: 'token' });
      expect(location).toMatch(/#.*error=(unsupported_response_type|unauthorized_client)/);
      expect(location).not.toContain('access_token');
    }
    const metadata = (await get('/.well-known/openid-configuration')).body;
    expect(JSON.parse(metadata).response_types_supported).toEqual(['code']);
    expect(metadata).not.toMatch(/"(implicit|password)"/);
  });

  test('requires PKCE from every client, and its codes end after a minute', async () => {
    for (const { clientId: client_id, redirectUri: redirect_uri } of [web, browserApp]) {
      const { location } = await authorize({ client_id, redirect_uri });
      expect(location).toContain('error=invalid_request');
    }
    const key = recordKey('AuthorizationCode', await newCode(pkce), system.identity.credentialHash);
    const { exp, iat } = JSON.parse((await system.store.get(key)) ?? '');
    expect(exp - iat).toBe(60);
  });

  test('accepts the issuer alone as the audience of an assertion', async () => {
    const { issuer } = system.first;
    const assert = async (aud: string | string[]) => {
      const assertion = new SignJWT({ iss: 'signer', sub: 'signer', aud, jti: randomUUID() });
      const client_assertion = await assertion
        .setProtectedHeader({ alg: 'EdDSA' })
        .setExpirationTime('1m')
        .sign(privateKey);
      const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
      return token({ ...machineGrant, client_assertion, client_assertion_type }, {});
    };
    expect(outcome(await assert(issuer))).toEqual([200, undefined]);
    for (const audience of [`${issuer}/token`, [issuer], [issuer, `${issuer}/token`]]) {
      expect(outcome(await assert(audience))).toEqual([401, 'invalid_client']);
    }
  });

  test.each([
    'device:read nonsense',
    'device:read device:report',
    'device:read ',
    'device:read openid',
  ])('rejects the scope %j of a machine', async (scope) => {
    // The provider answers the second request, and the fast path the first.
    for (const extra of [{}, { unknown: '1' }]) {
      const reply = await token({ ...machineGrant, scope, ...extra }, asFull);
      expect(outcome(reply)).toEqual([400, 'invalid_scope']);
    }
  });

  test.each(['openid nonsense', 'openid device:report'])(
    'rejects the scope %j of a user',
    async (scope) => {
      const { location } = await authorize({ ...pkce, client_id: full.clientId, scope });
      expect(location).toContain('error=invalid_scope');
    },
  );

  test.each<[string, Fields]>([
    ['scopes', {}],
    ['claims', { claims: '{"id_token":{"email":null,"name":{"essential":true}}}' }],
  ])('keeps personal data of %s out of ID tokens', async (_what, parameters) => {
    const scope = 'openid profile email groups';
    const code = await newCode({ ...pkce, scope, ...parameters }, carol);
    const { body } = await redeem(code, { code_verifier: verifier });
    expect(JSON.stringify(decodeJwt(body.id_token))).not.toMatch(/carol|admin|org-1/i);
    expect((await userinfo(body.access_token)).claims).toMatchObject({
      ...{ name: 'Carol Example', email: 'carol@example.com', roles: ['admin', 'plant 7'] },
    });
  });

  test('separates every page from its opener', async () => {
    for (const path of ['/authorize?client_id=web', '/sign-in/unknown', '/logout', '/account']) {
      const { headers } = await get(path);
      expect([path, headers.get('cross-origin-opener-policy')]).toEqual([path, 'same-origin']);
    }
  });

  const newTokens = async () => (await platform(machineGrant, asFull)).body;
  const refresh = (value: string, turn = 0) => system.any(turn).platform(refreshing(value), asFull);

  test('accepts one of ten concurrent refreshes over two processes', async () => {
    const { refresh_token: value } = await newTokens();
    const replies = await Promise.all(Array.from({ length: 10 }, (_, i) => refresh(value, i)));
    const losers = replies.filter(({ status }) => status !== 200);
    expect(losers.map(outcome)).toEqual(Array(9).fill([400, 'invalid_grant']));
  });

  test('has no grace period, so reusing a token revokes its family at once', async () => {
    const { refresh_token: value } = await newTokens();
    const { body } = await refresh(value);
    for (const each of [value, body.refresh_token]) {
      expect(outcome(await refresh(each))).toEqual([400, 'invalid_grant']);
    }
    expect(await isActive(body.access_token)).toBe(false);
  });
});

// A Redis without `maxmemory` has no budgets.
test('a full budget of the store does not cost a machine its refresh token', async () => {
  const system = systems[0]?.system as (typeof systems)[number]['system'];
  const { platform } = system.first;
  const asMachine = as(machine);
  const { refresh_token: value } = (await platform(machineGrant, asMachine)).body;
  const counter = `rate:machine-Grant-of-client:${machine.clientId}`;
  await system.store.increment(counter, 60, 2 ** 50);
  // The first server now knows that the budget is full.
  expect((await platform(machineGrant, asMachine)).status).toBe(429);
  const refused = await platform(refreshing(value), asMachine);
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
  await system.store.delete([counter]);
  expect((await system.second.platform(refreshing(value), asMachine)).status).toBe(200);
});
