/** RFC 9470: a route with `acr` or `maxAge` challenges for a stronger or newer sign-in. */
import { describe, expect, test } from '@jest/globals';
import { commonOfRoutes, deviceRoutes } from '../src/routes/route.ts';
import { publicUrl } from './booted-gateway.ts';
import { bootSuiteGateway, expectRefused } from './suite-gateway.ts';
import { ask, forwardAuth } from './verification-calls.ts';

const TWO_FACTORS = 'urn:gatehouse:acr:2';
const now = Math.floor(Date.now() / 1000);
const common = {
  ...commonOfRoutes,
  ...({ method: 'GET', scope: 'device:read', bodyLimitBytes: 0 } as const),
};
const gateway = await bootSuiteGateway({
  ...forwardAuth,
  routes: [
    { ...common, operation: 'secrets', path: '/secrets', acr: TWO_FACTORS },
    { ...common, operation: 'transfers', path: '/transfers', acr: TWO_FACTORS, maxAge: 300 },
    { ...common, operation: 'recent', path: '/recent', maxAge: 300 },
    ...deviceRoutes,
  ],
});
const user = {
  ...{ userId: 'user-1', username: 'alice', name: 'Alice', orgId: 'org-1' },
  ...{ emailVerified: false, roles: [], enabled: true, notBefore: 0, passwordHash: 'none' },
};
await gateway.identity.store.set(`user:${user.userId}`, JSON.stringify(user));

/** @param token undefined: of a machine */
const bearer = (token: object | undefined) =>
  gateway.bearer(token && { accountId: user.userId, ...token });
const get = async (path: string, token: object | undefined) =>
  gateway.send(path, { headers: await bearer(token) });

const challenge = (needs: string) =>
  `Bearer realm="gatehouse", error="insufficient_user_authentication", ${needs}, ` +
  `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource"`;
const strong = `acr_values="${TWO_FACTORS}"`;

describe('a route that needs a strong or recent sign-in', () => {
  test.each([
    ['a machine', '/secrets', undefined, strong],
    ['one factor', '/secrets', { acr: 'urn:gatehouse:acr:1', authTime: now }, strong],
    ['a token of an earlier release', '/secrets', { authTime: now }, strong],
    ['an unknown acr', '/secrets', { acr: 'urn:gatehouse:acr:20', authTime: now }, strong],
    [
      'two factors of long ago',
      '/transfers',
      { acr: TWO_FACTORS, authTime: now - 400 },
      `${strong}, max_age="300"`,
    ],
    ['an unknown time', '/recent', { acr: TWO_FACTORS }, 'max_age="300"'],
    ['a machine that is new', '/recent', undefined, 'max_age="300"'],
  ])('challenges %s', async (_name, path, token, needs) => {
    const reply = await get(path, token);
    expectRefused(gateway, reply, 401, 'unauthorized');
    expect(reply.headers['www-authenticate']).toBe(challenge(needs));
    expect(gateway.logLines().at(-1)).toMatchObject({
      reason: 'user_authentication_insufficient',
    });
  });

  test.each([
    ['two factors', '/secrets', { acr: TWO_FACTORS }],
    ['a passkey', '/secrets', { acr: 'phr' }],
    ['recent factors', '/transfers', { acr: TWO_FACTORS, authTime: now - 200 }],
    ['a recent password', '/recent', { authTime: now }],
  ])('accepts %s', async (_name, path, token) => {
    expect((await get(path, token)).status).toBe(200);
  });

  test('challenges a signed request, and reports a missing scope first', async () => {
    const signed = await gateway.send('/secrets', {
      headers: gateway.signedV2({ path: '/secrets' }),
    });
    expect(signed.status).toBe(401);
    expect(signed.headers['www-authenticate']).toBe(challenge(strong));
    const reply = await get('/secrets', { acr: TWO_FACTORS, scope: 'device:write' });
    expect(reply.status).toBe(403);
  });

  test('is what another proxy can require at /_verify', async () => {
    const path = `/_verify?scope=device:read&acr=${TWO_FACTORS}`;
    const verify = async (token: object | undefined) => ask(gateway, await bearer(token), { path });
    for (const token of [undefined, { acr: 'urn:gatehouse:acr:1', authTime: now }]) {
      const { status, headers } = await verify(token);
      expect([status, headers['www-authenticate']]).toEqual([401, challenge(strong)]);
    }
    expect((await verify({ acr: 'phr' })).status).toBe(200);
    const wrong = { path: '/_verify?scope=device:read&acr=gold' };
    expect((await ask(gateway, await bearer({ acr: 'phr' }), wrong)).status).toBe(400);
  });
});
