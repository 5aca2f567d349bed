import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import request from 'supertest';
import { type BootedApp, bootApp } from './booted-app.ts';
import { validClaims } from './gateway-double.ts';

let app: BootedApp;

beforeEach(async () => {
  app = await bootApp();
});

afterEach(() => app.close());

async function callWith(token: string, path = '/api/device') {
  return request(app.url).get(path).set('Authorization', `Bearer ${token}`);
}

describe('a request that bypasses the gateway', () => {
  test('is rejected without a token, before the service looks for the route', async () => {
    for (const path of ['/api/device', '/no/such/route']) {
      const reply = await request(app.url).get(path);

      expect(reply.status).toBe(401);
      expect(reply.body).toMatchObject({ status: 401, code: 'unauthorized' });
      expect(reply.headers['www-authenticate']).toBe('Bearer');
    }
  });

  test.each([
    ['for another audience', { aud: 'gateway' }],
    ['of another issuer', { iss: 'http://evil.test' }],
    ['that expired', { iat: ago(90), exp: ago(30) }],
    ['that lives longer than a minute', { exp: ago(-3600) }],
    ['from the future', { iat: ago(-30), exp: ago(-60) }],
    ['that is not valid yet', { nbf: ago(-30) }],
    ['without exp', { exp: undefined }],
    ['without iat', { iat: undefined }],
    ['without sub', { sub: undefined }],
    ['without jti', { jti: undefined }],
    ['without client_id', { client_id: undefined }],
    ['without org', { org: undefined }],
    ['with an empty org', { org: '' }],
    ['with an org that is not a string', { org: ['org-1'] }],
    ['without scope', { scope: undefined }],
    ['with a scope that is not a string', { scope: ['device:read'] }],
  ])('is rejected with a token %s', async (_what, claims) => {
    const reply = await callWith(await app.gateway.token(claims as Record<string, string>));

    expect(reply.status).toBe(401);
    expect(reply.body.code).toBe('unauthorized');
    expect(reply.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
  });

  test.each([['JWT'], ['application/jwt'], [undefined]])(
    'a token of type %s is rejected',
    async (typ) => {
      expect((await callWith(await app.gateway.token({}, { typ }))).status).toBe(401);
    },
  );

  test('is rejected with a token of an unknown key, with any key id', async () => {
    const { privateKey } = await generateKeyPair('EdDSA');
    for (const kid of ['key-1', 'key-2', undefined]) {
      const forged = await new SignJWT(validClaims(app.gateway.issuer))
        .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', ...(kid && { kid }) })
        .sign(privateKey);

      expect((await callWith(forged)).status).toBe(401);
    }
  });

  test('is rejected with a token that contains its key', async () => {
    const { privateKey, publicKey } = await generateKeyPair('EdDSA', { extractable: true });
    const forged = await new SignJWT(validClaims(app.gateway.issuer))
      .setProtectedHeader({
        alg: 'EdDSA',
        typ: 'at+jwt',
        jwk: await exportJWK(publicKey),
        jku: 'http://evil.test/jwks.json',
      })
      .sign(privateKey);

    expect((await callWith(forged)).status).toBe(401);
  });

  test('is rejected with a token without a signature', async () => {
    const [, payload] = new UnsecuredJWT(validClaims(app.gateway.issuer)).encode().split('.');
    for (const alg of ['none', 'None', 'EdDSA']) {
      const header = Buffer.from(JSON.stringify({ alg, typ: 'at+jwt' })).toString('base64url');

      expect((await callWith(`${header}.${payload}.`)).status).toBe(401);
    }
  });

  test('is rejected with an HMAC token whose secret is the public key', async () => {
    const { x = '' } = app.gateway.publicJwk;
    const secret = Buffer.from(x, 'base64url');
    const forged = await new SignJWT(validClaims(app.gateway.issuer))
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'key-1' })
      .sign(secret);

    expect((await callWith(forged)).status).toBe(401);
  });

  test('is rejected with a token whose payload was changed', async () => {
    const token = await app.gateway.token();
    const [header, , signature] = token.split('.');
    const payload = Buffer.from(
      JSON.stringify({ ...validClaims(app.gateway.issuer), org: 'org-2' }),
    ).toString('base64url');

    expect((await callWith(token)).status).toBe(200);
    expect((await callWith(`${header}.${payload}.${signature}`)).status).toBe(401);
  });

  test.each([
    ['another scheme', 'Basic YTpi'],
    ['nothing after the scheme', 'Bearer'],
    ['text that is not a token', 'Bearer null'],
    ['a comma list', 'Bearer a.b.c, Bearer d.e.f'],
  ])('is rejected with %s', async (_what, authorization) => {
    const reply = await request(app.url).get('/api/device').set('Authorization', authorization);

    expect(reply.status).toBe(401);
  });

  test('is rejected with two Authorization headers, even if the first is valid', async () => {
    const token = await app.gateway.token();
    const reply = await request(app.url)
      .get('/api/device')
      .set('Authorization', [`Bearer ${token}`, 'Bearer x'] as unknown as string);

    expect(reply.status).toBe(401);
  });

  test('is rejected with identity headers, or tokens in other places', async () => {
    const token = await app.gateway.token();
    const reply = await request(app.url)
      .get(`/api/device?access_token=${token}`)
      .set({ 'X-Access-Token': token, 'X-User-Id': 'admin', 'X-Org-Id': 'org-1' });

    expect(reply.status).toBe(401);
  });
});

describe('the scope', () => {
  test('is also checked by the service', async () => {
    const reader = await app.gateway.token({ scope: 'device:read' });
    const writer = await app.gateway.token({ scope: 'device:write' });
    const nobody = await app.gateway.token({ scope: '' });

    const denied = await request(app.url)
      .post('/device-instance')
      .set('Authorization', `Bearer ${reader}`)
      .send({ id: 'x', name: 'X', productId: 'p', productName: 'P' });
    expect(denied.status).toBe(403);
    expect(denied.body).toMatchObject({ status: 403, code: 'access_denied' });
    expect(denied.headers['www-authenticate']).toBe(
      'Bearer error="insufficient_scope", scope="device:write"',
    );
    expect((await callWith(writer)).status).toBe(403);
    expect((await callWith(writer, '/api/v1/device/x/_detail')).status).toBe(403);
    expect((await callWith(nobody)).status).toBe(403);
    expect((await callWith(reader)).status).toBe(200);
  });
});

describe('the key set', () => {
  test('is fetched once, for the first token', async () => {
    expect(app.gateway.fetches()).toBe(0);
    for (let i = 0; i < 5; i += 1) {
      expect((await callWith(await app.gateway.token())).status).toBe(200);
    }
    expect(app.gateway.fetches()).toBe(1);
  });

  test('is not fetched for every forged token with an unknown key id', async () => {
    await callWith(await app.gateway.token());
    for (let i = 0; i < 20; i += 1) {
      expect((await callWith(await app.gateway.token({}, { kid: `key-${i + 2}` }))).status).toBe(
        401,
      );
    }
    // Once, and again after each cooldown, on a slow machine.
    expect(app.gateway.fetches()).toBeLessThan(5);
  });

  test('gives 503 while it is unavailable, never 401 or 200', async () => {
    await app.gateway.stop();
    const token = await app.gateway.token();

    const away = await callWith(token);
    expect(away.status).toBe(503);
    expect(away.body.code).toBe('service_unavailable');
    expect(away.headers['retry-after']).toBe('1');

    await app.gateway.restart();
    expect((await callWith(token)).status).toBe(200);
  });
});

function ago(seconds: number): number {
  return Math.floor(Date.now() / 1000) - seconds;
}
