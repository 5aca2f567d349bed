/** Back-channel logout: two servers tell real servers of clients that a user signed out. */

import { createPageVisitor, type PageVisitor, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { startClientHost } from './client-host.ts';
import { alice, bob, carol, client, installation, web } from './installation.ts';
import { as, startOnEngines, withForm } from './server.ts';

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
  /** Not from the other engine, which still tries the clients that failed. */
  const received = () => host.calls.filter((call) => claimsOf(call).iss === first.issuer);
  const from = (clientId: string, start: number) =>
    received()
      .slice(start)
      .filter(({ path }) => path === `/${clientId}`);
  type Person = typeof alice | typeof bob | typeof carol;
  const userIdOf = async ({ username }: Person) =>
    (await identity.users.findByUsername(username))?.userId ?? '';

  async function signIn(each: ReturnType<typeof known>, user: Person, visitor: PageVisitor) {
    const how = { client_id: each.clientId, redirect_uri: each.redirectUri };
    const code = await first.newCode({ ...how, scope: 'openid' }, user, visitor);
    const redeemed = await first.redeem(code, { redirect_uri: each.redirectUri }, as(each));
    return decodeJwt(redeemed.body.id_token);
  }
  const signOut = async (visitor: PageVisitor) =>
    visitor.submit(await visitor.get(`${first.issuer}/logout`), { logout: 'yes' });
  async function signOutEverywhere(visitor: PageVisitor) {
    const page = await visitor.get(`${first.issuer}/account/sign-out-everywhere`);
    return visitor.submit(withForm(page, '/account/sign-out-everywhere'), {});
  }

  test('the sign-out in a browser reaches each client of the session once', async () => {
    const start = received().length;
    const visitor = createPageVisitor();
    const { sid, sub } = await signIn(bySession, alice, visitor);
    const other = await signIn(byUser, alice, visitor);
    await signIn({ ...known('web'), ...web }, alice, visitor);
    expect([typeof sid, other.sid]).toEqual(['string', undefined]);
    await signOut(visitor);
    await until(() => from('by-session', start).length > 0 && from('by-user', start).length > 0);
    const [ofSession, ofUser] = received()
      .slice(start)
      .sort((a, b) => (a.path < b.path ? -1 : 1));
    expect(received()).toHaveLength(start + 2);
    const { payload, protectedHeader } = await jwtVerify(
      tokenOf(ofSession ?? { body: '' }),
      published,
      { issuer: first.issuer, audience: 'by-session', typ: 'logout+jwt' },
    );
    expect(protectedHeader.alg).toBe('RS256');
    expect(payload).toEqual({
      ...{ sub, sid, iss: first.issuer, aud: 'by-session' },
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      ...{ jti: expect.any(String), iat: expect.any(Number), exp: expect.any(Number) },
    });
    expect(claimsOf(ofUser ?? { body: '' })).toMatchObject({ sub, aud: 'by-user' });
    expect(claimsOf(ofUser ?? { body: '' })).not.toHaveProperty('sid');
  });

  test('of many sign-outs, each is delivered by one of the servers', async () => {
    const start = received().length;
    const visitors = Array.from({ length: 10 }, () => createPageVisitor());
    const sids = await Promise.all(
      visitors.map(async (visitor) => (await signIn(bySession, bob, visitor)).sid),
    );
    await Promise.all(visitors.map(signOut));
    await until(async () => (await store.members('logout-notices:by-session')).length === 0);
    const delivered = from('by-session', start).map((call) => claimsOf(call).sid);
    expect(delivered.sort()).toEqual(sids.sort());
  });

  test('the end of one session on the account page reaches the clients of that session', async () => {
    const start = received().length;
    const [other, mine] = [createPageVisitor(), createPageVisitor()];
    const { sid } = await signIn(bySession, carol, other);
    await signIn(bySession, carol, mine);
    const page = await mine.get(`${first.issuer}/account`);
    await mine.submit(withForm(page, '/account/end-session'), {});
    await until(() => from('by-session', start).length > 0);
    expect(from('by-session', start).map((call) => claimsOf(call).sid)).toEqual([sid]);
  });

  test('the sign-out everywhere reaches the clients of all browsers', async () => {
    const start = received().length;
    const visitors = [createPageVisitor(), createPageVisitor()] as const;
    const sids = [];
    for (const visitor of visitors) {
      sids.push((await signIn(bySession, alice, visitor)).sid);
      await signIn(byUser, alice, visitor);
    }
    expect((await signOutEverywhere(visitors[0])).status).toBe(303);
    await until(
      () => from('by-session', start).length === 2 && from('by-user', start).length === 1,
    );
    const delivered = from('by-session', start).map((call) => claimsOf(call).sid);
    expect(delivered.sort()).toEqual(sids.sort());
  });

  test('the revocation of a user by an operator reaches them, after it took effect', async () => {
    const start = received().length;
    const { sub } = await signIn(byUser, carol, createPageVisitor());
    await identity.revocations.user(await userIdOf(carol));
    await until(() => from('by-user', start).length === 1);
    const [call] = from('by-user', start);
    const { notBefore = 0 } = (await identity.users.find(String(sub))) ?? {};
    expect(claimsOf(call ?? { body: '' }).iat).toBeGreaterThanOrEqual(notBefore);
  });

  test('a server that fails or hangs delays no other, and is tried again', async () => {
    const start = received().length;
    const visitor = createPageVisitor();
    for (const each of [hanging, failing, absent, bySession]) {
      await signIn(each, alice, visitor);
    }
    await signOut(visitor);
    await until(() => from('by-session', start).length === 1);
    for (const { clientId } of [hanging, failing, absent]) {
      await until(async () => {
        const [text = '{}', ...others] = await store.members(`logout-notices:${clientId}`);
        return others.length === 0 && JSON.parse(text).failed >= 1;
      });
    }
  });

  test('a restart loses none', async () => {
    const start = received().length;
    await Promise.all(system.members.map(({ process }) => process.stop()));
    await identity.logouts.add('by-user', { userId: await userIdOf(bob) });
    expect(from('by-user', start)).toEqual([]);
    await Promise.all(system.members.map((member) => member.start()));
    await until(async () => (await store.members('logout-notices:by-user')).length === 0);
    expect(from('by-user', start)).toHaveLength(1);
  });

  test('the metadata names it', async () => {
    const metadata = JSON.parse((await first.get('/.well-known/openid-configuration')).body);
    expect(metadata).toMatchObject({
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    });
  });
});
