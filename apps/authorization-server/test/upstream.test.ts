/** Sign-in with accounts at other providers: who gets in, with what, and how links come and go. */
import { createPageVisitor, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { alice, bob, carol, olga } from './installation.ts';
import { type User, withForm } from './server.ts';
import { atProvider } from './upstream-providers.ts';
import { createBrowsers, startWithUpstreams } from './upstream-servers.ts';

const upstreams = await startWithUpstreams();
const { foreign, lax, started } = upstreams;
const now = () => Math.floor(Date.now() / 1000);

let accounts = 0;
/** An account that no test used before. */
const newAccount = (claims: object = {}) => {
  accounts += 1;
  return { sub: `account-${accounts}`, ...claims };
};
const verified = (email: string) => ({ email, email_verified: true });

describe.each(started)('on $engine', ({ system }) => {
  const { identity, first } = system;
  const browsers = createBrowsers(upstreams, system);
  const { newBrowser, follow, signIn, userAt, tokenOf } = browsers;
  const changeUser = async (username: string, change: object) => {
    const { userId = '' } = (await identity.users.findByUsername(username)) ?? {};
    return identity.users.update(userId, (each) => ({ ...each, ...change }));
  };
  /** The account page of a user who entered the password. */
  const openAccount = async (user: User, visitor = newBrowser()) => ({
    visitor,
    account: await first.open(visitor, '/account', user),
  });
  const connect = async (id: string, user: User, account: { sub: string }) => {
    foreign.account = account;
    const { visitor, account: own } = await openAccount(user);
    const form = withForm(own, `/account/upstreams/${id}/connect`);
    return { visitor, page: await follow(visitor, await visitor.submit(form, {})) };
  };

  test('a provider creates users with its mapping, and decides about the mapped roles only', async () => {
    const account = newAccount({ name: 'Dora', ...verified('Dora@corp.example') });
    const visitor = newBrowser();
    const amr = ['pwd', 'user', 'mfa'];
    const page = await signIn('corp', { ...account, amr, groups: ['admins', 'x'] }, { visitor });
    expect(page.body).toContain('<bdi>Dora</bdi>');
    const created = await userAt('corp', account);
    expect(created).toMatchObject({
      ...{ username: 'Dora@corp.example', name: 'Dora', orgId: 'org-1', roles: ['admin'] },
      ...{ email: 'Dora@corp.example', emailVerified: true },
    });
    expect(created?.passwordHash).toBeUndefined();
    // A second factor counts only at a provider that the operator trusts with it.
    const claims = await tokenOf(visitor, page);
    expect(claims).toMatchObject({ sub: created?.userId, amr: ['pwd'] });
    expect(claims.auth_time).toBeGreaterThan(now() - 60);
    const trusted = newBrowser();
    const other = await signIn('trusted', newAccount({ amr }), { visitor: trusted });
    expect((await tokenOf(trusted, other)).amr).toEqual(['pwd', 'mfa']);

    await changeUser('Dora@corp.example', { roles: ['admin', 'owner', 'reader'] });
    await signIn('corp', { ...account, groups: 'staff' });
    expect((await userAt('corp', account))?.roles).toEqual(['owner', 'reader', 'writer']);
    expect((await userAt('corp', account))?.userId).toBe(created?.userId);
  });

  test('a second factor is asked here, unless the provider is trusted with it', async () => {
    const claims = { amr: ['pwd', 'mfa'], groups: ['guarded'] };
    const asked = await signIn('corp', newAccount(claims));
    expect([asked.status, asked.url]).toEqual([200, expect.stringMatching(/\/enroll$/)]);
    const weak = await signIn('trusted', newAccount({ ...claims, amr: ['pwd'] }));
    expect(weak.url).toMatch(/\/enroll$/);
    const visitor = newBrowser();
    const page = await signIn('trusted', newAccount(claims), { visitor });
    expect(await tokenOf(visitor, page)).toMatchObject({ acr: 'urn:gatehouse:acr:2' });
  });

  test('an application learns nothing of a provider that sends no amr', async () => {
    const visitor = newBrowser();
    const account = newAccount({ email_verified: true });
    const page = await signIn('corp', account, { visitor });
    expect(await tokenOf(visitor, page)).not.toHaveProperty('amr');
    expect((await userAt('corp', account))?.emailVerified).toBe(false);
  });

  test.each([
    ['stays', 'yes', true],
    ['ends with the browser', '', false],
  ])('the session %s if the user chooses so', async (_name, remember, isLong) => {
    const cookies: string[] = [];
    const visitor = createPageVisitor(async (...asked) => {
      const reply = await upstreams.host.send(...asked);
      cookies.push(...reply.headers.getSetCookie().filter((each) => each.startsWith('session=')));
      return reply;
    });
    await signIn('corp', newAccount(), { visitor, remember });
    expect(cookies.length).toBeGreaterThan(0);
    expect(cookies.some((cookie) => cookie.includes('expires='))).toBe(isLong);
  });

  test('a provider of a removed organization signs nobody in, and creates no user', async () => {
    const known = newAccount();
    expect((await signIn('closing', known)).status).toBe(200);
    await identity.removals.organization('closing', async () => undefined);
    // The server may read the record of the organization from memory for 50 ms.
    await until(async () => (await signIn('closing', known)).status === 403);
    const count = (await identity.users.list()).length;
    for (const account of [known, newAccount()]) {
      const { status, body } = await signIn('closing', account);
      expect([status, body]).toEqual([403, expect.stringContaining('cannot sign you in here')]);
      expect(await userAt('closing', account)).toBeUndefined();
    }
    expect(await identity.users.list()).toHaveLength(count);
  });

  test('concurrent first sign-ins create one user', async () => {
    const account = newAccount(verified('twins@corp.example'));
    const count = (await identity.users.list()).length;
    const pages = await Promise.all([1, 2, 3, 4].map(() => signIn('corp', account)));
    expect(pages.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await identity.users.list()).toHaveLength(count + 1);
  });

  test('a provider of OAuth 2.0 identifies users by the mapped members', async () => {
    lax.user = { id: 42, login: 'coder', email: 'coder@host.example', email_verified: true };
    const page = await signIn('oauth', newAccount());
    expect(page.body).toContain('<bdi>coder</bdi>');
    const user = await userAt('oauth', { sub: '42' });
    expect(user).toMatchObject({
      name: 'coder',
      email: 'coder@host.example',
      emailVerified: false,
    });
    expect(user?.username).toMatch(/^oauth-[\da-f]{10}$/);
    lax.user = { login: 'nobody' };
    const failed = await signIn('oauth', newAccount());
    expect([failed.status, failed.body]).toEqual([
      502,
      expect.stringContaining('did not sign you'),
    ]);
  });

  test('users connect an account, sign in with it, and disconnect it', async () => {
    const account = newAccount({ name: 'Not Alice' });
    const unknown = await signIn('plain', account);
    expect([unknown.status, unknown.body]).toEqual([
      403,
      expect.stringContaining('cannot sign you in here'),
    ]);
    const [, back = ''] = /href="(\/sign-in\/[^"]+\/account)"/.exec(unknown.body) ?? [];
    expect(back).not.toBe('');
    const { visitor, page } = await connect('plain', alice, account);
    expect([page.url, page.body]).toEqual([
      `${first.issuer}/account?done=connected`,
      expect.stringContaining('The account was connected.'),
    ]);
    const signedIn = await signIn('plain', account);
    expect(signedIn.body).toContain('Alice Example');
    const logout = await visitor.get(`${first.issuer}/logout`);
    expect(logout.body).toContain('does not sign you out of <bdi>Provider plain</bdi>');

    // The account of another user.
    expect((await connect('plain', bob, account)).page.status).toBe(403);
    const users = await Promise.all(
      [alice, bob].map((each) => identity.users.findByUsername(each.username)),
    );
    expect((await userAt('plain', account))?.userId).toBe(users[0]?.userId);
    expect(await identity.upstreamLinks.list(users[1]?.userId ?? '')).toEqual([]);

    const own = await visitor.get(`${first.issuer}/account`);
    const form = withForm(own, '/account/upstreams/plain/disconnect');
    const done = await follow(visitor, await visitor.submit(form, {}));
    expect(done.body).toContain('The account was disconnected.');
    expect((await signIn('plain', account)).status).toBe(403);
    const userId = users[0]?.userId ?? '';
    await expectEvents({ userId }, [
      { change: 'upstream_linked', upstream: 'plain' },
      { event: 'sign_in_succeeded', method: 'upstream', upstream: 'plain' },
      { change: 'upstream_unlinked', upstream: 'plain' },
    ]);
  });

  const expectEvents = (filter: { userId: string }, expected: readonly object[]) =>
    until(async () => {
      const found = await identity.audit.read({ ...filter, limit: 100 });
      return expected.every((each) => found.some((entry) => isPart(each, entry)));
    });

  test('the only way to sign in stays, and a connection needs a form and a recent sign-in', async () => {
    const account = newAccount();
    const visitor = newBrowser();
    await tokenOf(visitor, await signIn('corp', account, { visitor }));
    const own = await first.open(visitor, '/account');
    expect(own.body).toContain('only way to sign in');
    expect(own.body).not.toContain('/disconnect"');
    const connect = withForm(own, '/account/upstreams/plain/connect');
    const body = connect.body.replace('plain/connect', 'corp/disconnect');
    const removal = await visitor.submit({ url: own.url, body }, {});
    const foreignForm = await visitor.submit(connect, { csrf: 'x' });
    expect([removal.status, foreignForm.status]).toEqual([403, 403]);
    expect(await userAt('corp', account)).toBeDefined();

    foreign.age = 3600;
    const old = newBrowser();
    await tokenOf(old, await signIn('corp', account, { visitor: old }));
    foreign.age = 0;
    const form = withForm(
      await old.get(`${first.issuer}/account`),
      '/account/upstreams/plain/connect',
    );
    const { status, location } = await old.submit(form, {});
    expect([status, location]).toEqual([303, expect.stringContaining('prompt=login')]);
  });

  test('an address that the provider verified links the user with that verified address', async () => {
    const unverified = { email: 'carol@example.com', email_verified: false };
    for (const claims of [unverified, { ...unverified, email_verified: 'true' }]) {
      expect((await signIn('linker', newAccount(claims))).status).toBe(403);
    }
    const account = newAccount(verified('Carol@Example.com'));
    expect((await signIn('linker', account)).body).toContain('Carol Example');
    // An address that the user here never verified.
    await changeUser('bob', { email: 'bob@example.com', emailVerified: false });
    expect((await signIn('linker', newAccount(verified('bob@example.com')))).status).toBe(403);
  });

  test('the domain of an address selects the provider, whether there is an account or not', async () => {
    const destination = async (username: string, password: string) => {
      const visitor = newBrowser();
      const form = await first.openSignIn(visitor);
      const { location = '' } = await visitor.submit(form, { username, password });
      const { origin, pathname, searchParams } = new URL(location);
      const path = pathname.replace(/[^/]+$/, '');
      return [origin + path, searchParams.get('login_hint')];
    };
    await changeUser('alice', { email: 'alice@corp.example', emailVerified: true });
    for (const address of ['alice@corp.example', 'nobody@CORP.example']) {
      expect(await destination(address, '')).toEqual([`${foreign.issuer}/`, address]);
      expect(await destination(address, 'a wrong one')).toEqual([`${foreign.issuer}/`, address]);
    }
    const there = `${first.issuer}/authorize/`;
    expect(await destination('alice@corp.example', alice.password)).toEqual([there, null]);
    expect(await destination('alice', '')).toEqual([`${first.issuer}/sign-in/`, null]);

    const visitor = newBrowser();
    const hinted = await first.openSignIn(visitor, { login_hint: 'nobody@corp.example' });
    expect(hinted.location).toContain('login_hint=nobody%40corp.example');
    const local = await visitor.get(`${hinted.url}/account`);
    expect(local.body).toContain('name="password"');
  });

  test('prompt and max_age reach the provider, whose auth_time decides', async () => {
    const account = newAccount();
    foreign.age = 1000;
    const parameters = { max_age: '1800' };
    const visitor = newBrowser();
    const { auth_time: time } = await tokenOf(
      visitor,
      await signIn('corp', account, { visitor, parameters }),
    );
    expect(Math.abs(Number(time) - (now() - 1000))).toBeLessThan(30);
    expect(foreign.asked.get('max_age')).toBe('1800');
    // The provider signs the user in without a question.
    for (const each of [{ max_age: '100' }, { prompt: 'login' }]) {
      const refused = await signIn('corp', account, { parameters: { ...each } });
      expect([refused.status, refused.body]).toEqual([502, expect.stringContaining('Try again')]);
    }
    expect(foreign.asked.get('prompt')).toBe('login');
    foreign.age = 0;
    // A provider of OAuth 2.0 does not say when the user signed in.
    lax.user = { id: 42 };
    const unknown = await signIn('oauth', account, { parameters: { max_age: '1800' } });
    expect(unknown.status).toBe(502);
    const again = await signIn('corp', account, { parameters: { prompt: 'login' } });
    expect(again.status).toBe(200);
  });

  test('disabled users and users of other organizations stay out', async () => {
    const account = newAccount();
    await signIn('corp', account);
    const { userId = '', username = '' } = (await userAt('corp', account)) ?? {};
    await changeUser(username, { enabled: false });
    expect((await signIn('corp', account)).status).toBe(403);
    await expectEvents({ userId }, [{ event: 'sign_in_failed', reason: 'account_disabled' }]);
    await changeUser(username, { enabled: true, orgId: 'org-2' });
    expect((await signIn('corp', account)).status).toBe(403);
    // A provider of another organization does not get a user by an address.
    await changeUser('carol', { email: 'carol2@example.com' });
    expect((await signIn('other', newAccount(verified('carol2@example.com')))).status).toBe(403);
    const { visitor, account: own } = await openAccount(carol);
    const form = withForm(own, '/account/upstreams/plain/connect');
    const body = form.body.replace('plain', 'other');
    expect((await visitor.submit({ ...form, body }, {})).status).toBe(404);
    const { account: page } = await openAccount(olga);
    expect(page.body).toContain('/account/upstreams/other/connect"');
  });

  test('the page shows buttons, and a failing provider leads back to it', async () => {
    const visitor = newBrowser();
    const form = await first.openSignIn(visitor);
    expect(form.body).toContain('Continue with Provider corp');
    expect(form.body).not.toContain('Provider other');
    for (const [upstream, status, problem] of [
      ['liar', 502, 'The other service did not sign you in'],
      ['stopped', 502, 'The other service did not sign you in'],
      ['missing', 404, 'Page not found'],
    ] as const) {
      const failed = await visitor.submit(form, { upstream });
      expect([failed.status, failed.body]).toEqual([status, expect.stringContaining(problem)]);
      const back = await visitor.get(`${form.url}/account`);
      expect(failed.body).toContain(new URL(back.url).pathname);
      expect(back.body).toContain('name="password"');
    }
  });

  test('the store holds no readable secret, and the same file changes nothing', async () => {
    const text = await system.storedText();
    expect(text).toContain('"clientSecret":"v1.');
    expect(text).not.toContain(atProvider.secureKey);
    const { definition } = await identity.settings.read();
    const entered = definition.upstreams?.map((each) => ({
      ...each,
      clientSecret: each.clientSecret && atProvider.secureKey,
    }));
    expect(await identity.settings.apply({ upstreams: entered })).toEqual([]);
  });
});

const isPart = (part: object, whole: object) =>
  Object.entries(part).every(([name, value]) => Object(whole)[name] === value);
