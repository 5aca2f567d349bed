/** Back-channel logout: two servers tell real servers of clients that a user signed out. */

import { createPageVisitor, type PageVisitor, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { startClientHost } from './client-host.ts';
import { alice, bob, carol, client, installation, olga, web } from './installation.ts';
import { as, startOnEngines, type User, withForm } from './server.ts';

const host = await startClientHost(({ path }, response) => {
  // The server of one client accepts connections and never replies.
  if (path !== '/hanging') {
    response.writeHead(path === '/failing' ? 503 : 200).end();
  }
});
const known = (clientId: string) => ({
  clientId,
  secureKey: `${clientId}Key0123456789abcdef`,
  redirectUri: `https://${clientId}.example/callback`,
});
/** It gets the session in ID tokens and logout tokens. */
const bySession = known('by-session');
const byUser = known('by-user');
const [dave, erin, greta] = [
  { username: 'dave', password: 'a password of dave', orgId: 'org-1' },
  { username: 'erin', password: 'a password of erin', orgId: 'org-1' },
  { username: 'greta', password: 'a password of greta', orgId: 'org-3' },
] as const;
const [hanging, failing, absent] = [known('hanging'), known('failing'), known('absent')];
const notified = (each: ReturnType<typeof known>, more: object = {}) =>
  client(each, ['authorization_code', 'refresh_token'], ['openid', 'device:read'], {
    ...{ firstParty: true, backchannelLogoutUri: `${host.url}/${each.clientId}` },
    ...more,
  });

const systems = await startOnEngines({
  servers: 2,
  environment: host.environment,
  bootstrap: {
    ...installation,
    ...host.settings,
    organizations: [...installation.organizations, { id: 'org-3', name: 'Short-lived' }],
    users: [
      ...installation.users,
      ...[dave, erin, greta].map((user) => ({ ...user, name: user.username })),
    ],
    clients: [
      ...installation.clients,
      notified(bySession, { backchannelLogoutSessionRequired: true }),
      ...[byUser, hanging, failing].map((each) => notified(each)),
      notified(absent, { backchannelLogoutUri: 'https://127.0.0.2/logout' }),
    ],
  },
});

describe.each(systems)('on $engine', ({ system }) => {
  const { first, identity, store } = system;
  const published = createRemoteJWKSet(new URL(`${first.issuer}/jwks`));
  const tokenOf = ({ body }: { readonly body: string }) =>
    new URLSearchParams(body).get('logout_token') ?? '';
  const claimsOf = (call: { readonly body: string }) => decodeJwt(tokenOf(call));
  /** The tests run at the same time, each with its own user. */
  const received = (clientId: string, sub: string | undefined) =>
    host.calls.filter(
      (call) =>
        call.path === `/${clientId}` &&
        claimsOf(call).sub === sub &&
        claimsOf(call).iss === first.issuer,
    );
  const sidsOf = (calls: readonly { readonly body: string }[]) =>
    calls.map((call) => claimsOf(call).sid).sort();

  async function signIn(each: ReturnType<typeof known>, user: User, visitor: PageVisitor) {
    const how = { client_id: each.clientId, redirect_uri: each.redirectUri };
    const code = await first.newCode({ ...how, scope: 'openid' }, user, visitor);
    const redeemed = await first.redeem(code, { redirect_uri: each.redirectUri }, as(each));
    return decodeJwt(redeemed.body.id_token);
  }
  const signOut = async (visitor: PageVisitor) =>
    visitor.submit(await visitor.get(`${first.issuer}/logout`), { logout: 'yes' });

  test.concurrent('the sign-out in a browser reaches each client of the session once', async () => {
    const visitor = createPageVisitor();
    const { sid, sub } = await signIn(bySession, alice, visitor);
    const other = await signIn(byUser, alice, visitor);
    await signIn({ ...known('web'), ...web }, alice, visitor);
    expect([typeof sid, other.sid]).toEqual(['string', undefined]);
    await signOut(visitor);
    await until(
      () => received('by-session', sub).length > 0 && received('by-user', sub).length > 0,
    );
    const [ofSession = { body: '' }] = received('by-session', sub);
    const [ofUser = { body: '' }] = received('by-user', sub);
    const { payload, protectedHeader } = await jwtVerify(tokenOf(ofSession), published, {
      ...{ issuer: first.issuer, audience: 'by-session', typ: 'logout+jwt' },
    });
    expect(protectedHeader.alg).toBe('RS256');
    expect(payload).toEqual({
      ...{ sub, sid, iss: first.issuer, aud: 'by-session' },
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      ...{ jti: expect.any(String), iat: expect.any(Number), exp: expect.any(Number) },
    });
    expect(claimsOf(ofUser)).toMatchObject({ sub, aud: 'by-user' });
    expect(claimsOf(ofUser)).not.toHaveProperty('sid');
    const told = host.calls.filter((call) => claimsOf(call).sub === sub);
    expect(told).toHaveLength(2);
  });

  test.concurrent('of many sign-outs, each is delivered by one of the servers', async () => {
    const visitors = Array.from({ length: 10 }, () => createPageVisitor());
    const claims = await Promise.all(visitors.map((visitor) => signIn(bySession, bob, visitor)));
    await Promise.all(visitors.map(signOut));
    await until(async () => (await store.members('logout-notices:by-session')).length === 0);
    expect(sidsOf(received('by-session', claims[0]?.sub))).toEqual(
      claims.map(({ sid }) => sid).sort(),
    );
  });

  test.concurrent('the end of one session on the account page reaches the clients of that session', async () => {
    const [other, mine] = [createPageVisitor(), createPageVisitor()];
    const { sid, sub } = await signIn(bySession, erin, other);
    await signIn(bySession, erin, mine);
    const page = await mine.get(`${first.issuer}/account`);
    await mine.submit(withForm(page, '/account/end-session'), {});
    await until(() => received('by-session', sub).length > 0);
    expect(sidsOf(received('by-session', sub))).toEqual([sid]);
  });

  test.concurrent('the sign-out everywhere reaches the clients of all browsers', async () => {
    const visitor = createPageVisitor();
    const claims = [];
    for (const browser of [createPageVisitor(), visitor]) {
      claims.push(await signIn(bySession, olga, browser));
      await signIn(byUser, olga, browser);
    }
    const page = await visitor.get(`${first.issuer}/account/sign-out-everywhere`);
    const form = withForm(page, '/account/sign-out-everywhere');
    expect((await visitor.submit(form, {})).status).toBe(303);
    const { sub } = claims[0] ?? {};
    await until(
      () => received('by-session', sub).length === 2 && received('by-user', sub).length === 1,
    );
    expect(sidsOf(received('by-session', sub))).toEqual(claims.map(({ sid }) => sid).sort());
  });

  test.concurrent('the revocation of a user by an operator reaches them, after it took effect', async () => {
    const { sub = '' } = await signIn(byUser, carol, createPageVisitor());
    await identity.revocations.user(sub);
    await until(() => received('by-user', sub).length === 1);
    const [call = { body: '' }] = received('by-user', sub);
    const { notBefore = 0 } = (await identity.users.find(sub)) ?? {};
    expect(claimsOf(call).iat).toBeGreaterThanOrEqual(notBefore);
  });

  test.concurrent('the removal of an organization reaches the clients of its users', async () => {
    const { sub = '' } = await signIn(byUser, greta, createPageVisitor());
    await identity.removals.organization('org-3', async () => undefined);
    await until(() => received('by-user', sub).length === 1);
  });

  test.concurrent('a server that fails or hangs delays no other, and is tried again', async () => {
    const visitor = createPageVisitor();
    let sub: string | undefined;
    for (const each of [hanging, failing, absent, bySession]) {
      ({ sub } = await signIn(each, dave, visitor));
    }
    await signOut(visitor);
    await until(() => received('by-session', sub).length === 1);
    for (const { clientId } of [hanging, failing, absent]) {
      await until(async () => {
        const [text = '{}', ...others] = await store.members(`logout-notices:${clientId}`);
        return others.length === 0 && JSON.parse(text).failed >= 1;
      });
    }
  });

  test('a restart loses none', async () => {
    const { userId: sub = '' } = (await identity.users.findByUsername(bob.username)) ?? {};
    await Promise.all(system.members.map(({ process }) => process.stop()));
    await identity.logouts.add('by-user', { userId: sub });
    expect(received('by-user', sub)).toEqual([]);
    await system.members[0]?.start();
    await until(async () => (await store.members('logout-notices:by-user')).length === 0);
    expect(received('by-user', sub)).toHaveLength(1);
  });

  test('the metadata names it', async () => {
    const metadata = JSON.parse((await first.get('/.well-known/openid-configuration')).body);
    expect(metadata).toMatchObject({
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    });
  });
});
