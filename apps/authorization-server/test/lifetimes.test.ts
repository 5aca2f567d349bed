/** Lifetimes that operators set for the installation, a resource or a client. */
import { createPageVisitor, until } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { alice, client, installation } from './installation.ts';
import { as, machineGrant, refreshing, startServers } from './server.ts';

const BILLING = 'https://billing.example';
const redirectUri = 'https://app.example/callback';
const short = { clientId: 'short', secureKey: 'shortKey0123456789abcd', redirectUri };
const grants = ['authorization_code', 'client_credentials', 'refresh_token'];

const system = await startServers({
  servers: 2,
  bootstrap: {
    ...installation,
    lifetimes: { accessToken: 1000, idToken: 900, deviceCode: 120 },
    resources: [
      {
        resource: BILLING,
        name: 'Billing',
        scopes: { 'billing:read': { description: 'See invoices' } },
        lifetimes: { accessToken: 300 },
      },
    ],
    clients: [
      ...installation.clients,
      client(short, grants, ['device:read', 'openid', 'billing:read'], {
        lifetimes: { accessToken: 400, idToken: 500, refreshToken: 3600 },
      }),
    ],
  },
});
const { first, second, identity } = system;

test('A client has its own lifetimes, and others have those of the installation.', async () => {
  const ofMachine = await first.token(machineGrant);
  const ofProvider = await first.token({ ...machineGrant, unknown: '1' });
  expect([ofMachine.body.expires_in, ofProvider.body.expires_in]).toEqual([1000, 1000]);
  expect((await first.token(machineGrant, as(short))).body.expires_in).toBe(400);
  const code = await first.newCode({ client_id: short.clientId, scope: 'openid device:read' });
  const { body } = await first.redeem(code, {}, as(short));
  expect(body.expires_in).toBe(400);
  const { exp = 0, iat = 0 } = decodeJwt(body.id_token);
  expect(exp - iat).toBe(500);
  const refreshed = await first.token(refreshing(body.refresh_token), as(short));
  expect(refreshed.body.expires_in).toBe(400);
  const described = await first.introspect(refreshed.body.refresh_token);
  expect(described.exp - described.iat).toBeLessThanOrEqual(3600);
  expect((await first.startDevice()).expires_in).toBe(120);
});

test('The access token of a resource has the shorter lifetime.', async () => {
  const { body } = await first.token({ ...machineGrant, resource: BILLING }, as(short));
  expect(body.expires_in).toBe(300);
});

test('Every server applies a change within a second.', async () => {
  await identity.settings.apply({ lifetimes: { accessToken: 600 } });
  await until(async () => (await second.token(machineGrant)).body.expires_in === 600);
  await until(async () => (await first.token(machineGrant)).body.expires_in === 600);
});

test('A refresh token that was used stays unusable for as long as it would have lived.', async () => {
  await identity.settings.apply({ lifetimes: { refreshToken: 7200 } });
  await until(async () => {
    const { refresh_token: token } = await first.tokensFor({});
    const { exp, iat } = await first.introspect(token);
    return exp - iat === 7200;
  });
  const { refresh_token: used } = await first.tokensFor({});
  await identity.settings.apply({ lifetimes: { refreshToken: 3600 } });
  await until(async () => (await identity.settings.read()).lifetimes.refreshToken === 3600);
  const next = await first.token(refreshing(used));
  expect(next.status).toBe(200);
  await first.token(refreshing(next.body.refresh_token));
  // The use of the successor ends the grace, so this is a replay, which ends the family.
  const again = await first.token(refreshing(used));
  expect([again.status, again.body.error]).toEqual([400, 'invalid_grant']);
});

test.each([
  ['stays', { remember: 'yes' }, true],
  ['ends with the browser', {}, false],
])('A session %s if the user chooses so.', async (_name, choice, isLong) => {
  const visitor = createPageVisitor();
  const page = await first.openSignIn(visitor);
  expect(page.body).toContain('name="remember"');
  let next = await visitor.submit(page, { ...alice, ...choice });
  const cookies: string[] = [];
  while (next.location?.startsWith(first.issuer)) {
    next = await visitor.get(next.location);
    cookies.push(...next.headers.getSetCookie());
  }
  const session = cookies.filter((cookie) => cookie.startsWith('session='));
  expect(session.length).toBeGreaterThan(0);
  expect(session.some((cookie) => cookie.includes('expires='))).toBe(isLong);
});
