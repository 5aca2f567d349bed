/** The account page: its browsers, the profile, and the data of its user. */
import { credentialId, settingsMembers, userSessionsKey } from '@gatehouse/identity';
import { createPageVisitor, until } from '@gatehouse/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { alice, bob, carol } from './installation.ts';
import { startOnEngines, type User, withForm } from './server.ts';

const firefox = {
  'user-agent': 'Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0',
};
const systems = await startOnEngines({ servers: 2 });

describe.each(systems)('on $engine', ({ system }) => {
  const { identity, store, first, second } = system;
  const { issuer, open, tokensFor } = first;
  const account = `${issuer}/account`;
  const userIdOf = async ({ username }: User) =>
    (await identity.users.findByUsername(username))?.userId ?? '';
  const allow = (selfService: { profile?: boolean; data?: boolean }) =>
    identity.settings.apply({ selfService });
  beforeEach(async () => {
    await allow({});
    // The copy of a server is at most 50 ms old.
    await new Promise((resolve) => setTimeout(resolve, 60));
  });

  /** Signs in with a browser of this name. Its last use is noted with the next request. */
  async function signInWith(headers: Record<string, string>, user: User) {
    const visitor = createPageVisitor();
    const { location = '' } = await visitor.get(account, headers);
    const form = await visitor.get((await visitor.get(location, headers)).location ?? '', headers);
    let page = await visitor.submit(form, user, headers);
    while (page.location !== undefined) {
      page = await visitor.get(page.location, headers);
    }
    return { visitor, page };
  }

  /** Changes the sessions of a user in the store, as if they were from another time. */
  async function changeSessions(user: User, change: object) {
    for (const key of await store.members(userSessionsKey(await userIdOf(user)))) {
      const text = identity.sealer.tryOpen((await store.get(key)) ?? '', key);
      if (text !== undefined) {
        const session = { ...JSON.parse(text), ...change };
        await store.set(key, identity.sealer.seal(JSON.stringify(session), key), 3600);
      }
    }
  }
  const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1000) - seconds;

  const endForms = ({ body }: { readonly body: string }) =>
    [...body.matchAll(/name="session" value="([^"]+)"/g)].map(([, id = '']) => id);

  test('shows each browser in words with its place, and ends one of them at once', async () => {
    const other = await signInWith(firefox, alice);
    expect(other.page.body).toContain('<h3>Firefox on Windows</h3>');
    expect(other.page.body).toContain('This browser');
    expect(endForms(other.page)).toEqual([]);
    const tokens = await tokensFor({ scope: 'openid' }, alice, other.visitor);
    const mine = createPageVisitor();
    const page = await open(mine, '/account', alice);
    expect(page.body).toContain('Unknown browser');
    expect(page.body).toMatch(/Last used [^<]+ from 127\.0\.0\.1/);
    expect(await second.isActive(tokens.access_token)).toBe(true);
    const [id = ''] = endForms(page);
    const reply = await mine.submit(withForm(page, '/account/end-session'), {});
    expect([reply.status, reply.location]).toEqual([303, `${account}?done=session`]);
    expect(await second.isActive(tokens.access_token)).toBe(false);
    expect((await other.visitor.get(account)).status).toBe(303);
    const after = await mine.get(reply.location ?? '');
    expect(after.body).toContain('The session was ended.');
    expect(endForms(after)).not.toContain(id);
    const userId = await userIdOf(alice);
    await until(async () => {
      const entries = await identity.audit.read({ userId, event: 'sign_out', limit: 10 });
      return entries.length > 0;
    });
  });

  test('ends no session of another user', async () => {
    const { visitor } = await signInWith(firefox, carol);
    const [ofCarol] = await identity.userSessions.sessions(await userIdOf(carol));
    const attacker = createPageVisitor();
    await open(attacker, '/account', bob);
    await open(createPageVisitor(), '/account', bob);
    const form = withForm(await attacker.get(account), '/account/end-session');
    await attacker.submit(form, { session: ofCarol?.id ?? '' });
    expect((await visitor.get(account)).status).toBe(200);
    expect((await attacker.submit(form, { csrf: 'x' })).status).toBe(403);
  });

  test('ends a session for good while its browser uses it at both servers', async () => {
    const { visitor } = await signInWith(firefox, bob);
    await tokensFor({ scope: 'openid' }, bob, visitor);
    const userId = await userIdOf(bob);
    const cookie = visitor.cookies.get('session|/') ?? '';
    const ended = credentialId(identity.credentialHash(cookie));
    const mine = createPageVisitor();
    await open(mine, '/account', bob);
    const form = withForm(await mine.get(account), '/account/end-session', ended);
    const authorizations = Array.from({ length: 20 }, (_, i) =>
      visitor.get(system.any(i).authorizationUrl({ scope: 'openid', prompt: 'none' })),
    );
    const uses = Array.from({ length: 10 }, () => visitor.get(account));
    const replies = await Promise.all([
      Promise.all(authorizations),
      ...Array.from({ length: 5 }, () => mine.submit(form, {})),
      ...uses,
    ]);
    expect((await visitor.get(account)).status).toBe(303);
    expect(await identity.userSessions.end(userId, ended)).toBeUndefined();
    for (const { location = issuer } of replies[0]) {
      const code = new URL(location).searchParams.get('code');
      if (code !== null) {
        const { body } = await first.redeem(code);
        expect([body.error, body.access_token]).toEqual(['invalid_grant', undefined]);
      }
    }
  });

  test('keeps the place of a session sealed and short, and renews it', async () => {
    const userId = await userIdOf(carol);
    const long = { 'user-agent': `${'x'.repeat(10_000)} Firefox/140.0` };
    const { visitor } = await signInWith(long, carol);
    for (const key of await store.members(userSessionsKey(userId))) {
      expect((await store.get(key)) ?? '').not.toMatch(/127\.0\.0\.1|Firefox/);
    }
    const usesOf = async () =>
      (await identity.userSessions.sessions(userId)).map(({ lastUse }) => lastUse);
    expect(await usesOf()).toContainEqual({ at: expect.any(Number), from: '127.0.0.1' });
    const old = { at: secondsAgo(7200), from: '192.0.2.7', browser: 'Firefox' };
    await changeSessions(carol, { lastUse: old });
    await visitor.get(account, firefox);
    const renewed = { browser: 'Firefox', system: 'Windows', from: '127.0.0.1' };
    expect(await usesOf()).toContainEqual({ ...renewed, at: expect.any(Number) });
  });

  test('changes the profile, but not the address unless operators allow it', async () => {
    const visitor = createPageVisitor();
    await open(visitor, '/account', bob);
    expect((await visitor.get(`${account}/email`)).status).toBe(404);
    const form = await visitor.get(`${account}/profile`);
    const long = await visitor.submit(form, { name: 'Bob', givenName: 'x'.repeat(201) });
    expect([long.status, long.body]).toEqual([422, expect.stringContaining('Given name.')]);
    expect((await visitor.submit(form, { name: ' ' })).status).toBe(422);
    const typed = { name: 'Robert', givenName: ' Rob ', familyName: '', locale: 'zh-CN' };
    const others = {
      email: 'x@example.com',
      roles: 'admin',
      username: 'root',
      emailVerified: 'true',
    };
    const reply = await visitor.submit(form, { ...typed, ...others });
    expect(reply.location).toBe(`${account}?done=profile`);
    const userId = await userIdOf(bob);
    const user = await identity.users.read(userId);
    expect(user).toMatchObject({ name: 'Robert', givenName: 'Rob', locale: 'zh-CN' });
    expect([user?.email, user?.roles, user?.username]).toEqual([undefined, [], 'bob']);
    await until(async () => {
      const entries = await identity.audit.read({ userId, event: 'user_changed', limit: 10 });
      return JSON.stringify(entries).includes('givenName');
    });

    await allow({ profile: true });
    await until(async () => (await visitor.get(`${account}/email`)).status === 200);
    const emailForm = await visitor.get(`${account}/email`);
    expect((await visitor.submit(emailForm, { email: 'not an address' })).status).toBe(422);
    await visitor.submit(emailForm, { email: 'bob@example.com' });
    await identity.users.update(userId, (each) => ({ ...each, emailVerified: true }));
    await visitor.submit(emailForm, { email: 'rob@example.com' });
    expect(await identity.users.read(userId)).toMatchObject({
      email: 'rob@example.com',
      emailVerified: false,
    });
    await allow({ profile: false });
    await until(async () => (await visitor.submit(form, typed)).status === 404);
    expect((await visitor.get(account)).body).not.toContain('Edit profile');
  });

  test('limits the changes of a profile', async () => {
    const visitor = createPageVisitor();
    await open(visitor, '/account', alice);
    const form = await visitor.get(`${account}/profile`);
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, i) => visitor.submit(form, { name: `Alice ${i}` })),
    );
    const counts = [303, 429].map((code) => replies.filter(({ status }) => status === code).length);
    expect(counts).toEqual([30, 10]);
  });

  test('asks for a recent sign-in before the address or the account, and returns', async () => {
    await allow({ profile: true, data: true });
    const visitor = createPageVisitor();
    await until(async () => (await open(visitor, '/account/remove', alice)).status === 200);
    const form = await visitor.get(`${account}/remove`);
    await changeSessions(alice, { loginTs: secondsAgo(601) });
    expect((await visitor.get(`${account}/profile`)).status).toBe(200);
    for (const path of ['email', 'remove']) {
      const redirect = await visitor.get(`${account}/${path}`);
      expect(redirect.location).toContain('prompt=login');
    }
    // The form of another sign-in is rejected, and its own asks for a sign-in first.
    expect((await visitor.submit(form, { username: 'alice' })).status).toBe(403);
    const { body } = await visitor.get(`${account}/profile`);
    const own = {
      url: `${account}/remove`,
      body: body.replace('/account/profile', '/account/remove'),
    };
    const asked = await visitor.submit(own, { username: 'alice' });
    expect([asked.status, asked.location]).toEqual([303, expect.stringContaining('prompt=login')]);
    expect(await userIdOf(alice)).not.toBe('');
    const back = await open(visitor, asked.location ?? '', alice);
    expect([back.url, back.status]).toEqual([`${account}/remove`, 200]);
  });

  test('gives the data and removes the account only if operators allow it', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor({ scope: 'openid' }, carol, visitor);
    const userId = await userIdOf(carol);
    const page = await visitor.get(account);
    expect(page.body).not.toContain('Your data');
    for (const path of ['data', 'remove']) {
      expect((await visitor.get(`${account}/${path}`)).status).toBe(404);
    }
    const passkey = { id: 'AQ', publicKey: 'secret', counter: 0, transports: [], name: 'Phone' };
    await identity.passkeys.add(userId, { ...passkey, isDeviceBound: true, isBackedUp: false });
    const corp = { id: 'corp', name: 'Corp', issuer: 'https://corp.example', clientId: 'x' };
    const [upstream] = settingsMembers.upstreams.parse([corp]) ?? [];
    await identity.settings.apply({ upstreams: upstream ? [upstream] : [] });
    const user = await identity.users.read(userId);
    if (upstream !== undefined && user !== undefined) {
      await identity.upstreamLinks.ensure(upstream, 'subject', async (link) => {
        await link(userId);
        return user;
      });
    }
    await allow({ data: true });
    await until(async () => (await visitor.get(account)).body.includes('Your data'));
    const download = await visitor.get(`${account}/data`);
    expect(download.headers.get('content-disposition')).toBe('attachment; filename=account.json');
    expect(download.headers.get('cache-control')).toBe('no-store');
    const data = JSON.parse(download.body);
    expect(data).toMatchObject({
      profile: { userId, username: 'carol', email: 'carol@example.com' },
      applications: [{ clientId: 'web', scopes: ['openid'] }],
      passkeys: [{ name: 'Phone', createdAt: expect.any(Number) }],
      otherAccounts: [{ provider: 'Corp' }],
    });
    expect(download.body).not.toMatch(/argon2|password|"uid"|"sid"|secret"/i);

    const form = await visitor.get(`${account}/remove`);
    const wrong = await visitor.submit(form, { username: 'alice' });
    expect([wrong.status, wrong.body]).toEqual([422, expect.stringContaining('not your username')]);
    const reply = await visitor.submit(form, { username: 'Carol' });
    expect([reply.status, reply.location]).toEqual([303, `${account}/removed`]);
    expect((await visitor.get(reply.location ?? '')).body).toContain('Your account was removed');
    expect(await second.isActive(tokens.access_token)).toBe(false);
    expect((await visitor.get(account)).status).toBe(303);
    await until(async () => (await identity.users.find(userId)) === undefined);
    await until(async () => {
      const entries = await identity.audit.read({ userId, event: 'user_changed', limit: 10 });
      return JSON.stringify(entries).includes('"removed"');
    });
  });
});
