import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import request from 'supertest';
import { type BootedApp, bootApp } from './booted-app.ts';
import { bootSuiteApp } from './device-suite.ts';
import { validClaims } from './gateway-double.ts';

const app = await bootSuiteApp();
const { issuer, publicJwk, token } = app.gateway;

async function call(authorization?: string, path = '/api/device', at: BootedApp = app) {
  const sent = authorization === undefined ? {} : { authorization };
  const { status, headers, body } = await request(at.url).get(path).set(sent);
  const { 'www-authenticate': challenge, 'retry-after': retryAfter } = headers;
  return { status, code: body.code, challenge, retryAfter };
}
const callWith = (bearer: string, path?: string, at?: BootedApp) =>
  call(`Bearer ${bearer}`, path, at);
const ago = (seconds: number) => Math.floor(Date.now() / 1000) - seconds;
const sign = (header: object, key: Parameters<SignJWT['sign']>[0], claims = validClaims(issuer)) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', ...header }).sign(key);

describe('a request that bypasses the gateway', () => {
  test('is rejected without a token, before the service looks for the route', async () => {
    for (const path of ['/api/device', '/no/such/route']) {
      const expected = { status: 401, code: 'unauthorized', challenge: 'Bearer' };
      expect(await call(undefined, path)).toMatchObject(expected);
    }
  });

  test.each<[string, JWTPayload, object?]>([
    ['for another audience', { aud: 'gateway' }],
    ['of another issuer', { iss: 'http://evil.test' }],
    ['that expired', { iat: ago(90), exp: ago(30) }],
    ['that lives longer than a minute', { exp: ago(-3600) }],
    ['from the future', { iat: ago(-30), exp: ago(-60) }],
    ['that is not valid yet', { nbf: ago(-30) }],
    ...['exp', 'iat', 'sub', 'jti', 'client_id', 'org', 'scope'].map(
      (name): [string, JWTPayload] => [`without ${name}`, { [name]: undefined }],
    ),
    ['with an empty org', { org: '' }],
    ['with an org that is not a string', { org: ['org-1'] }],
    ['with a scope that is not a string', { scope: ['device:read'] }],
    ['of type JWT', {}, { typ: 'JWT' }],
    ['of type application/jwt', {}, { typ: 'application/jwt' }],
    ['without a type', {}, { typ: undefined }],
  ])('is rejected with a token %s', async (_what, claims, header = {}) => {
    expect(await callWith(await token(claims, header as Record<string, unknown>))).toMatchObject({
      ...{ status: 401, code: 'unauthorized', challenge: 'Bearer error="invalid_token"' },
    });
  });

  test('is rejected with a token of an unknown key, with any key id, or a key in the token', async () => {
    const { privateKey, publicKey } = await generateKeyPair('EdDSA', { extractable: true });
    const jwk = await exportJWK(publicKey);
    const jku = 'http://evil.test/jwks.json';
    for (const header of [{ kid: 'key-1' }, { kid: 'key-2' }, {}, { jwk, jku }]) {
      expect((await callWith(await sign(header, privateKey))).status).toBe(401);
    }
  });

  test('is rejected with a token without a signature', async () => {
    const [, payload] = new UnsecuredJWT(validClaims(issuer)).encode().split('.');
    for (const alg of ['none', 'None', 'EdDSA']) {
      const header = Buffer.from(JSON.stringify({ alg, typ: 'at+jwt' })).toString('base64url');
      expect((await callWith(`${header}.${payload}.`)).status).toBe(401);
    }
  });

  test('is rejected with an HMAC token whose secret is the public key', async () => {
    const secret = Buffer.from(publicJwk.x ?? '', 'base64url');
    const forged = await sign({ alg: 'HS256', kid: 'key-1' }, secret);
    expect((await callWith(forged)).status).toBe(401);
  });

  test('is rejected with a token whose payload was changed', async () => {
    const good = await token();
    const [header, , signature] = good.split('.');
    const claims = JSON.stringify({ ...validClaims(issuer), org: 'org-2' });
    const payload = Buffer.from(claims).toString('base64url');
    expect((await callWith(good)).status).toBe(200);
    expect((await callWith(`${header}.${payload}.${signature}`)).status).toBe(401);
  });

  test.each(['Basic YTpi', 'Bearer', 'Bearer null', 'Bearer a.b.c, Bearer d.e.f'])(
    'is rejected with Authorization: %s',
    async (authorization) => {
      expect((await call(authorization)).status).toBe(401);
    },
  );

  test('is rejected with two Authorization headers, identity headers, or a token in other places', async () => {
    const good = await token();
    const statusOf = async (headers: readonly string[]) => {
      const path = `/api/device?access_token=${good}`;
      // A flat list, because fetch would join two headers.
      const sent = get({ port: app.port, path, headers: ['Host', 'x', ...headers], agent: false });
      const [reply] = (await once(sent, 'response')) as [IncomingMessage];
      return reply.resume().statusCode;
    };
    const authorization = ['Authorization', `Bearer ${good}`];
    expect(await statusOf(authorization)).toBe(200);
    expect(await statusOf([...authorization, 'Authorization', 'Bearer x'])).toBe(401);
    const identity = ['X-Access-Token', good, 'X-User-Id', 'admin', 'X-Org-Id', 'org-1'];
    expect(await statusOf(identity)).toBe(401);
  });
});

describe('the key set', () => {
  test('is fetched once, and not for every forged token with an unknown key id', async () => {
    const own = await bootApp();
    expect(own.gateway.fetches()).toBe(0);
    for (let i = 0; i < 5; i += 1) {
      expect((await callWith(await own.gateway.token(), undefined, own)).status).toBe(200);
    }
    expect(own.gateway.fetches()).toBe(1);
    for (let i = 0; i < 20; i += 1) {
      const forged = await own.gateway.token({}, { kid: `key-${i + 2}` });
      expect((await callWith(forged, undefined, own)).status).toBe(401);
    }
    // Once, and again after each cooldown, on a slow machine.
    expect(own.gateway.fetches()).toBeLessThan(5);
    await own.close();
  });

  test('gives 503 while it is unavailable, never 401 or 200', async () => {
    const own = await bootApp();
    await own.gateway.stop();
    const good = await own.gateway.token();
    const away = { status: 503, code: 'service_unavailable', retryAfter: '1' };
    expect(await callWith(good, undefined, own)).toMatchObject(away);
    await own.gateway.restart();
    expect((await callWith(good, undefined, own)).status).toBe(200);
    await own.close();
  });
});
