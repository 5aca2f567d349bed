/**
 * Access tokens in the form of a JWT (RFC 9068): what every grant issues, what a service that is
 * not behind the gateway verifies, and what the gateway rejects.
 */

import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { ONE_FACTOR } from '@gatehouse/identity';
import { createPageVisitor, until } from '@gatehouse/testing';
import { listenForTests, temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import {
  alice,
  bob,
  browserApp,
  carol,
  client,
  DEVICE_GRANT,
  installation,
  web,
} from './installation.ts';
import { as, machineGrant, outcome, refreshing, startOnEngines } from './server.ts';

const BILLING = 'https://billing.example/api';
const PLAIN = 'https://plain.example';
const redirectUri = 'https://biller.example/callback';
const biller = { clientId: 'biller', secureKey: 'billerKey0123456789abc', redirectUri };
const grants = [
  ...['authorization_code', 'client_credentials', 'refresh_token', 'password', DEVICE_GRANT],
];
const billingScopes = ['billing:read', 'billing:write'];
type Person = typeof alice | typeof bob | typeof carol;
const resources = [
  {
    ...{ resource: BILLING, name: 'Billing', tokenFormat: 'jwt' },
    scopes: {
      'billing:read': { description: 'See your invoices' },
      'billing:write': { description: 'Change your invoices', roles: ['accountant'] },
    },
  },
  { resource: PLAIN, name: 'Plain', scopes: { 'plain:read': { description: 'Read' } } },
] as const;

const api = createServer((_request, response) => response.end('{}'));
const port = await listenForTests(api);
const routesFile = join(temporaryFolder(), 'routes.json');
const route = { method: 'GET', upstream: 'api' };
writeFileSync(
  routesFile,
  JSON.stringify({
    upstreams: { api: { url: `http://127.0.0.1:${port}` } },
    routes: [
      { ...route, operation: 'invoices', path: '/invoices', scope: 'billing:read' },
      { ...route, operation: 'plain', path: '/plain', scope: 'plain:read' },
    ],
  }),
);

const systems = await startOnEngines({
  apps: ['authorization-server', 'gateway'],
  bootstrap: {
    ...installation,
    resources,
    users: installation.users.map((user) =>
      user.username === carol.username ? { ...user, roles: ['accountant'] } : user,
    ),
    clients: [
      ...installation.clients,
      client(biller, grants, ['openid', 'device:read', ...billingScopes, 'plain:read'], {
        defaultResource: BILLING,
      }),
    ],
  },
  environment: { ROUTES_FILE: routesFile, FORWARD_AUTH: 'true', TRUSTED_PROXIES: '127.0.0.1,::1' },
});

describe.each(systems)('on $engine', ({ system }) => {
  const { first, gatewayUrl, identity } = system;
  const asBiller = as(biller);
  const published = createRemoteJWKSet(new URL(`${first.issuer}/jwks`));
  const call = (token: string, path = '/invoices') =>
    fetch(gatewayUrl + path, { headers: { authorization: `Bearer ${token}` } });
  const rejection = async (token: string, path?: string) => {
    const reply = await call(token, path);
    const { result } = Object(await reply.json());
    return [reply.status, result?.cause];
  };
  const isRejected = async (token: string) => {
    await until(async () => (await call(token)).status === 401);
    expect(await rejection(token)).toEqual([401, 'token_revoked']);
    // Each process has its own copy of the revocation.
    await until(async () => !(await first.isActive(token)));
  };
  const machine = async (): Promise<string> =>
    (await first.token(machineGrant, asBiller)).body.access_token;
  const byCode = async (user: Person = alice) => {
    const how = { client_id: biller.clientId, redirect_uri: redirectUri };
    const code = await first.newCode({ ...how, scope: 'openid billing:read billing:write' }, user);
    return (await first.redeem(code, { redirect_uri: redirectUri }, asBiller)).body;
  };
  const byDevice = async () => {
    const started = await first.startDevice({ client_id: biller.clientId }, asBiller);
    await first.connectDevice(started, { visitor: createPageVisitor() });
    const { device_code = '' } = started;
    return (await first.token({ grant_type: DEVICE_GRANT, device_code }, asBiller)).body;
  };
  const ways: Readonly<Record<string, () => Promise<{ readonly access_token: string }>>> = {
    client_credentials: async () => (await first.token(machineGrant, asBiller)).body,
    'client_credentials at the platform endpoint': async () =>
      (await first.platform(machineGrant, asBiller)).body,
    password: async () => (await first.token({ grant_type: 'password', ...alice }, asBiller)).body,
    authorization_code: byCode,
    'a device': byDevice,
    refresh_token: async () =>
      (await first.token(refreshing((await byCode()).refresh_token), asBiller)).body,
  };

  test.each(Object.entries(ways))('%s gives a token that a service verifies', async (name, get) => {
    const { access_token: token } = await get();
    const { protectedHeader, payload } = await jwtVerify(token, published, {
      ...{ issuer: first.issuer, audience: BILLING, typ: 'at+jwt' },
      requiredClaims: ['sub', 'client_id', 'scope', 'iat', 'exp', 'jti'],
    });
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'at+jwt', kid: expect.any(String) });
    const isMachine = name.startsWith('client_credentials');
    const { userId } = (await identity.users.findByUsername(alice.username)) ?? {};
    const holder = { client_id: biller.clientId, sub: isMachine ? biller.clientId : userId };
    // Roles are for users.
    const scope = isMachine ? 'billing:read billing:write' : 'billing:read';
    expect(payload).toMatchObject({ ...holder, scope, aud: BILLING });
    expect(payload.acr).toBe(isMachine ? undefined : ONE_FACTOR);
    expect(payload.auth_time === undefined).toBe(isMachine);
    expect((await call(token)).status).toBe(200);
    expect(await rejection(token, '/api/device')).toEqual([401, 'token_for_other_resource']);
    expect(await rejection(token, '/plain')).toEqual([401, 'token_for_other_resource']);
    expect(await first.introspect(token)).toMatchObject({
      ...{ active: true, aud: BILLING, iss: first.issuer, token_type: 'Bearer', ...holder },
      ...{ scope, org: 'org-1', jti: payload.jti, exp: payload.exp },
      ...(!isMachine && { acr: ONE_FACTOR, amr: ['pwd'], auth_time: payload.auth_time }),
    });
  });

  test('a proxy that asks the gateway gets the same answer', async () => {
    const verify = async (scope: string) =>
      (
        await fetch(`${gatewayUrl}/_verify?scope=${scope}`, {
          headers: {
            ...{ authorization: `Bearer ${await machine()}`, 'X-Original-Method': 'GET' },
            'X-Original-URI': '/any',
          },
        })
      ).status;
    expect([await verify('billing:read'), await verify('plain:read')]).toEqual([200, 401]);
  });

  test('the refresh of a user who lost a role gives a token without its scopes', async () => {
    const { userId = '' } = (await identity.users.findByUsername(carol.username)) ?? {};
    const tokens = await byCode(carol);
    expect(decodeJwt(tokens.access_token).scope).toBe('billing:read billing:write');
    await identity.users.update(userId, (user) => ({ ...user, roles: [] }));
    await until(async () => {
      const { scope } = await first.introspect(tokens.access_token);
      return scope === 'billing:read';
    });
    const { body } = await first.token(refreshing(tokens.refresh_token), asBiller);
    expect(decodeJwt(body.access_token).scope).toBe('billing:read');
    expect(body.scope).toBe('billing:read');
  });

  test('other resources and the device API keep opaque tokens', async () => {
    for (const resource of [PLAIN, gatewayUrl]) {
      const { body } = await first.token({ ...machineGrant, resource }, asBiller);
      expect(body.access_token).toMatch(/^[\w-]{43}$/);
    }
  });

  describe('a forged token', () => {
    const signing = identity.keepSigningKeys(
      'authorization-server',
      { actor: 'test' },
      { now: Date.now },
    );
    /** Signed with the key of the server, unless the change is in the signature. */
    async function signed(claims: object = {}, header: object = {}) {
      const { kid, privateKey } = await signing.current();
      return new SignJWT({ ...decodeJwt(await machine()), ...claims })
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid, ...header })
        .sign(privateKey);
    }
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const changed = async (change: (parts: string[]) => string[]) =>
      change((await machine()).split('.')).join('.');

    test('is accepted if nothing is forged', async () => {
      expect((await call(await signed())).status).toBe(200);
    });

    const past = Math.floor(Date.now() / 1000) - 1;
    const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const foreignJwk = foreign.publicKey.export({ format: 'jwk' });
    test.each<readonly [string, () => Promise<string>]>([
      ['an ID token', async () => (await byCode()).id_token],
      ['a logout token', () => signed({}, { typ: 'logout+jwt' })],
      ['no type', () => signed({}, { typ: undefined })],
      ['another issuer', () => signed({ iss: 'https://other.example' })],
      ['the resource of an opaque token', () => signed({ aud: PLAIN })],
      ['an unknown resource', () => signed({ aud: 'https://unknown.example' })],
      ['two audiences', () => signed({ aud: [BILLING, PLAIN] })],
      ['the gateway as its audience', () => signed({ aud: gatewayUrl })],
      ['a past expiry', () => signed({ exp: past })],
      ['no expiry', () => signed({ exp: undefined })],
      ['no holder', () => signed({ gatehouse: undefined })],
      ['an unknown key', () => signed({}, { kid: 'unknown' })],
      ['a critical extension', () => signed({}, { crit: ['b64'], b64: true })],
      ['its own key', () => signed({}, { jwk: foreignJwk })],
      [
        'a foreign signature',
        async () => {
          const token = await machine();
          return new SignJWT(decodeJwt(token))
            .setProtectedHeader(decodeProtectedHeader(token) as { alg: string })
            .sign(foreign.privateKey);
        },
      ],
      [
        'no signature',
        () => changed(([, body = '']) => [part({ alg: 'none', typ: 'at+jwt' }), body, '']),
      ],
      ['an empty signature', () => changed(([head = '', body = '']) => [head, body, ''])],
      [
        'another scope',
        () =>
          changed(([head = '', body = '', signature = '']) => {
            const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
            return [head, part({ ...claims, scope: 'billing:write' }), signature];
          }),
      ],
    ])('with %s is rejected, and is not active', async (_name, forge) => {
      const token = await forge();
      expect(await rejection(token)).toEqual([401, 'access_token_is_jwt']);
      expect(await first.introspect(token)).toEqual({ active: false });
    });

    test('does not get scopes of other resources', async () => {
      const token = await signed({ scope: 'billing:read device:read plain:read openid' });
      expect((await first.introspect(token)).scope).toBe('billing:read');
    });
  });

  describe('a revocation', () => {
    test('of a single token of a machine ends it alone', async () => {
      const [ended, other] = [await machine(), await machine()];
      expect(outcome(await first.revoke(ended, as(web)))).toEqual([400, 'invalid_request']);
      const { clientId: client_id } = browserApp;
      expect((await first.post('/revoke', { token: ended, client_id }, {})).status).toBe(200);
      expect((await call(ended)).status).toBe(200);
      expect((await first.revoke(ended, asBiller)).status).toBe(200);
      await isRejected(ended);
      expect((await call(other)).status).toBe(200);
    });

    test('of a token of a user ends its grant, with the refresh token', async () => {
      const { access_token: token, refresh_token: refreshToken } = await byCode();
      expect((await first.revoke(token, asBiller)).status).toBe(200);
      await isRejected(token);
      const refreshed = await first.token(refreshing(refreshToken), asBiller);
      expect(outcome(refreshed)).toEqual([400, 'invalid_grant']);
      expect((await call((await byCode()).access_token)).status).toBe(200);
    });

    test('of the refresh token ends the access token', async () => {
      const { access_token: token, refresh_token: refreshToken } = await byCode();
      await first.revoke(refreshToken, asBiller);
      await isRejected(token);
    });

    test('by an operator ends it', async () => {
      const token = await machine();
      expect(await identity.revocations.token(token)).toMatchObject({ clientId: 'biller' });
      await isRejected(token);
      expect(await identity.revocations.token(`${token.slice(0, -4)}AAAA`)).toBeUndefined();
    });

    test('by its reference ends it, and nobody can invent a reference', async () => {
      const { revocations } = identity;
      const token = await machine();
      const { reference = '' } = (await revocations.find(token)) ?? {};
      expect(token).not.toContain(reference.split('.')[1]);
      expect(await revocations.find(reference)).toBeUndefined();
      const [text = '', mac] = reference.split('.');
      const other = String(Buffer.from(text, 'base64url')).replace('biller', 'killer');
      const forged = `${Buffer.from(other).toString('base64url')}.${mac}`;
      expect(await revocations.token({ reference: forged })).toBeUndefined();
      expect(await revocations.find({ reference })).toMatchObject({ isRevoked: false });
      expect(await revocations.token({ reference })).toMatchObject({ clientId: 'biller' });
      await isRejected(token);
    });

    test('of an ID token is rejected as before', async () => {
      const { id_token: idToken } = await byCode();
      const reply = await first.revoke(idToken, asBiller);
      expect(outcome(reply)).toEqual([400, 'unsupported_token_type']);
    });

    test('of the user or of the key ends it', async () => {
      const { access_token: ofUser } = await byCode(bob);
      const user = await identity.users.findByUsername(bob.username);
      await identity.revocations.user(user?.userId ?? '');
      await isRejected(ofUser);
      const ofKey = await machine();
      const { keyId: newer } = await identity.clients.rotateKey('biller', { replaceOldest: false });
      const record = await identity.clients.find('biller');
      const older = record?.keys.find(({ id }) => id !== newer)?.id ?? '';
      await identity.clients.removeKey('biller', older);
      await isRejected(ofKey);
    });
  });

  test('a revocation of the client or the installation ends it, and so does its resource', async () => {
    const { secureKey } = await identity.clients.rotateKey('biller', { replaceOldest: true });
    /** While a revocation takes effect, the server issues nothing. */
    const issue = async () => {
      let token: string | undefined;
      await until(async () => {
        const { body } = await first.token(machineGrant, as({ clientId: 'biller', secureKey }));
        token = body.access_token;
        return token !== undefined;
      });
      await until(async () => (await call(token ?? '')).status === 200);
      return token ?? '';
    };
    const ofClient = await issue();
    await identity.revocations.client('biller');
    await isRejected(ofClient);
    const ofInstallation = await issue();
    await identity.revocations.everything();
    await isRejected(ofInstallation);
    const ofResource = await issue();
    const [{ tokenFormat: _jwt, ...opaque }] = resources;
    await identity.settings.apply({ resources: [structuredClone(opaque)] as never });
    await until(async () => (await call(ofResource)).status === 401);
    expect(await rejection(ofResource)).toEqual([401, 'access_token_is_jwt']);
  });
});
