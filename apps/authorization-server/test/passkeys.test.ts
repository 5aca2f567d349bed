/** Passkeys: on the account page, as the whole sign-in, as second factor, and under attack. */
import { ONE_FACTOR, type SecondFactorSettings, TWO_FACTORS } from '@gatehouse/identity';
import {
  type Cbor,
  cbor,
  codeOfApp,
  createPageVisitor,
  createSoftwareAuthenticator,
  type Deviation,
  integrationEngines,
  type PageVisitor,
  passkeyOptions,
  recoveryCodesOfPage,
  type SoftwareAuthenticator,
  type VisitedPage,
} from '@gatehouse/testing';
import { onEachEngine } from '@gatehouse/testing/suite';
import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { addressLimit } from '../src/throttle/limits.ts';
import { advanceSeconds, startInProcess } from './in-process-server.ts';
import { alice, bob, olga, screen } from './installation.ts';
import { type Fields, type User, withForm } from './server.ts';

const PASSKEYS = '/account/passkeys';
const BUTTON = 'Sign in with a passkey';

const servers = await onEachEngine((engine) => startInProcess({ engine }), integrationEngines);

describe.each(servers)('passkeys on $engine', ({ system: server }) => {
  const { identity, issuer, open, openSignIn, redeem, introspect } = server;

  const declare = async (secondFactor: Partial<SecondFactorSettings>) => {
    const maps = { organizations: {}, roles: {}, clients: {} };
    await identity.settings.apply({ secondFactor: { ...maps, ...secondFactor } });
    advanceSeconds(1);
  };
  const userIdOf = async ({ username }: User) =>
    (await identity.users.findByUsername(username))?.userId ?? '';
  const lastReason = () => server.logLines().findLast(({ reason }) => reason !== undefined)?.reason;
  const newAuthenticator = (...how: [Parameters<typeof createSoftwareAuthenticator>[1]?]) =>
    createSoftwareAuthenticator(issuer, ...how);

  async function follow(visitor: PageVisitor, from: VisitedPage): Promise<VisitedPage> {
    let page = from;
    for (let i = 0; i < 12 && page.location?.startsWith(issuer) === true; i += 1) {
      page = await visitor.get(page.location);
    }
    return page;
  }
  /** The form with the passkey, answered by the authenticator. */
  const answer = (
    visitor: PageVisitor,
    page: VisitedPage,
    passkey: string,
    { remember = '', ...fields }: Fields = {},
  ) => {
    const action =
      /<form class="passkey" method="post" action="([^"]*)"/.exec(page.body)?.[1] ?? '';
    return visitor.submit(withForm(page, action), { remember, ...fields, passkey });
  };
  const getAnswer = (
    visitor: PageVisitor,
    page: VisitedPage,
    authenticator: SoftwareAuthenticator,
    deviation: Deviation = {},
  ) => answer(visitor, page, authenticator.get(passkeyOptions(page), deviation));

  /** Adds a passkey on the account page. */
  async function add(visitor: PageVisitor, user: User, authenticator = newAuthenticator()) {
    const page = await open(visitor, PASSKEYS, user);
    const created = authenticator.create(passkeyOptions(page));
    const done = await answer(visitor, page, created, { name: 'Phone' });
    return { authenticator, page, done, created };
  }
  async function tokensAt(visitor: PageVisitor, page: VisitedPage) {
    const asked = page.body.includes('name="decision"');
    const { location = '' } = asked ? await visitor.submit(page, { decision: 'allow' }) : page;
    const at = await follow(visitor, { ...page, location });
    const code = new URL(at.location ?? '').searchParams.get('code') ?? '';
    const { body } = await redeem(code);
    return { ...body, claims: decodeJwt(body.id_token) };
  }
  /** The page after the sign-in with a passkey. */
  async function signIn(authenticator: SoftwareAuthenticator, parameters: Fields = {}) {
    const visitor = createPageVisitor();
    const form = await openSignIn(visitor, { scope: 'openid', ...parameters });
    const reply = await getAnswer(visitor, form, authenticator);
    return { visitor, reply, page: await follow(visitor, reply) };
  }
  const hasFailed = ({ reply }: { readonly reply: VisitedPage }) =>
    reply.location?.endsWith('?failed=passkey');

  afterEach(async () => {
    await declare({});
    for (const user of [alice, bob, olga]) {
      const userId = await userIdOf(user);
      await identity.factors.remove(userId);
      await identity.signInLocks.unlock({ ...user, userId });
    }
  });

  test('are neither offered nor accepted while operators allow none', async () => {
    await declare({ organizations: { 'org-1': 'optional' } });
    const { authenticator } = await add(createPageVisitor(), alice);
    const visitor = createPageVisitor();
    const form = await openSignIn(visitor, {});
    expect(form.body).toContain(BUTTON);
    expect((await open(createPageVisitor(), '/account', olga)).body).not.toContain(PASSKEYS);
    await declare({});
    const without = await openSignIn(createPageVisitor(), {});
    expect(without.body).not.toMatch(/passkey|webauthn/);
    expect(without.headers.getSetCookie().join()).not.toContain('passkey');
    expect(hasFailed({ reply: await getAnswer(visitor, form, authenticator) })).toBe(true);
    expect(lastReason()).toBe('passkey_unknown');
    const account = createPageVisitor();
    expect((await open(account, '/account', alice)).body).not.toContain(PASSKEYS);
    expect((await account.get(issuer + PASSKEYS)).status).toBe(404);
  });

  test('are added on the account page, and sign in without a password', async () => {
    await declare({ default: 'optional' });
    const visitor = createPageVisitor();
    const { authenticator, page, done, created } = await add(visitor, bob);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(recoveryCodesOfPage(done)).toHaveLength(10);
    // The challenge is used up. The session proved the passkey.
    const again = await answer(visitor, page, created, { name: 'Phone' });
    const manage = await visitor.get(issuer + PASSKEYS);
    expect([again.status, manage.status]).toEqual([422, 200]);
    expect(manage.body).toContain('Recovery codes left: 10');
    const codesForm = withForm(manage, '/account/second-factor');
    const renewed = recoveryCodesOfPage(await visitor.submit(codesForm, { change: 'codes' }));
    expect(renewed).toHaveLength(10);
    expect(renewed).not.toEqual(recoveryCodesOfPage(done));

    const form = await openSignIn(createPageVisitor(), {});
    expect(form.body).toContain('autocomplete="username webauthn"');
    const options = JSON.parse(passkeyOptions(form));
    expect(options).toMatchObject({ rpId: 'localhost', allowCredentials: [] });
    expect(options).toMatchObject({ userVerification: 'required' });
    const signedIn = await signIn(authenticator);
    const tokens = await tokensAt(signedIn.visitor, signedIn.page);
    expect(tokens.claims).toMatchObject({
      ...{ sub: await userIdOf(bob), acr: 'phr', amr: ['swk', 'user'] },
    });
    expect(await introspect(tokens.access_token)).toMatchObject({ active: true, acr: 'phr' });
    // Its session satisfies weaker values, and opens the page of passkeys.
    const { body } = await signedIn.visitor.get(issuer + PASSKEYS);
    expect(body).toMatch(/Added on .*Last used: (?!never)/);
    const weaker = await signedIn.visitor.get(
      server.authorizationUrl({ scope: 'openid', acr_values: TWO_FACTORS, prompt: 'none' }),
    );
    expect((await tokensAt(signedIn.visitor, weaker)).claims.acr).toBe(TWO_FACTORS);
  });

  test('that stay on their authenticator are reported as such, for one that asks for phr', async () => {
    await declare({ default: 'optional' });
    const { authenticator } = await add(
      createPageVisitor(),
      alice,
      newAuthenticator({ isBackedUp: false }),
    );
    const { visitor, page } = await signIn(authenticator, { acr_values: 'phr' });
    expect((await tokensAt(visitor, page)).claims).toMatchObject({
      ...{ acr: 'phr', amr: ['hwk', 'user'] },
    });
  });

  test('are renamed and removed, by a session that proved one', async () => {
    await declare({ default: 'optional' });
    const weak = createPageVisitor();
    await open(weak, '/account', alice);
    const { authenticator } = await add(createPageVisitor(), alice);
    // With the password alone, an attacker could add one.
    const asked = await weak.get(issuer + PASSKEYS);
    expect(asked.location).toMatch(/prompt=login.*acr_values/);
    const signInPage = await follow(weak, asked);
    const step = await follow(weak, await weak.submit(signInPage, alice));
    expect(step.url).toMatch(/\/second-factor$/);
    const { visitor } = await signIn(authenticator);
    const page = await visitor.get(issuer + PASSKEYS);
    const change = (fields: Fields) => visitor.submit(withForm(page, `${PASSKEYS}/change`), fields);
    for (const name of ['<b>Laptop', ' ', 'x'.repeat(61)]) {
      expect((await change({ name })).status).toBe(303);
    }
    expect((await visitor.get(issuer + PASSKEYS)).body).toContain('&lt;b&gt;Laptop');
    expect((await change({ name: 'x', remove: 'yes' })).status).toBe(303);
    expect(await identity.passkeys.list(await userIdOf(alice))).toEqual([]);
    expect(hasFailed(await signIn(authenticator))).toBe(true);
    expect(lastReason()).toBe('passkey_unknown');
    await identity.audit.flush();
    const entries = await identity.audit.read({ limit: 50 });
    const changes = entries.flatMap((each) => ('change' in each ? [each.change] : []));
    expect(changes).toEqual(expect.arrayContaining(['passkey_added', 'passkey_removed']));
  });

  const rejected: readonly (readonly [string, Deviation])[] = [
    ['another origin', { origin: 'https://evil.example' }],
    ['another RP ID', { rpId: 'evil.example' }],
    ['another challenge', { challenge: 'AAAA' }],
    ['the type of a registration', { type: 'webauthn.create' }],
    ['a frame of another site', { crossOrigin: true }],
    ['no verified user', { userVerified: false }],
    ['a wrong signature', { alter: 'signature' }],
    ['an unknown passkey', { alter: 'id' }],
    ['an unknown user', { userHandle: 'AAAA' }],
    ['no user', { userHandle: undefined }],
  ];

  test('are rejected with one reply, whatever is wrong', async () => {
    await declare({ default: 'optional' });
    const { authenticator } = await add(createPageVisitor(), alice);
    const seen = new Map<string, string>();
    const bodies = new Set<string>();
    for (const [name, deviation] of rejected) {
      const visitor = createPageVisitor();
      const form = await openSignIn(visitor, {});
      const reply = await getAnswer(visitor, form, authenticator, deviation);
      seen.set(name, lastReason());
      const { status, body } = await visitor.get(reply.location ?? '');
      bodies.add(`${status} ${body.replace(/(value|data-options|action)="[^"]*"/g, '')}`);
    }
    expect([...bodies]).toEqual([expect.stringContaining('was not accepted')]);
    for (const posted of ['', '{', '[]', '{"id":"x"}', 'null']) {
      const visitor = createPageVisitor();
      const form = await openSignIn(visitor, {});
      expect(hasFailed({ reply: await answer(visitor, form, posted) })).toBe(true);
    }
    const unknown = ['an unknown passkey', 'an unknown user', 'no user'];
    expect([...seen].filter(([, reason]) => reason !== 'passkey_wrong')).toEqual(
      unknown.map((name) => [name, 'passkey_unknown']),
    );
  });

  test('are accepted once, and only for the page that asked', async () => {
    await declare({ default: 'optional' });
    const { authenticator } = await add(createPageVisitor(), alice);
    const [victim, attacker] = [createPageVisitor(), createPageVisitor()];
    const form = await openSignIn(victim, { scope: 'openid' });
    const captured = authenticator.get(passkeyOptions(form));
    const other = await openSignIn(attacker, { scope: 'openid' });
    expect(hasFailed({ reply: await answer(attacker, other, captured) })).toBe(true);
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => answer(victim, form, captured)),
    );
    expect(replies.filter((reply) => !hasFailed({ reply }))).toHaveLength(1);
    const late = createPageVisitor();
    const old = await openSignIn(late, { scope: 'openid' });
    advanceSeconds(60 * 60);
    const expired = await getAnswer(late, old, authenticator);
    expect(expired.location).not.toMatch(/\/authorize\/./);
  });

  test('whose counter does not increase are rejected, and reported as copied', async () => {
    await declare({ default: 'optional' });
    const { authenticator } = await add(
      createPageVisitor(),
      alice,
      newAuthenticator({ counts: true }),
    );
    expect(hasFailed(await signIn(authenticator))).toBe(false);
    const visitor = createPageVisitor();
    const form = await openSignIn(visitor, {});
    const reply = await getAnswer(visitor, form, authenticator, { counter: 2 });
    expect([hasFailed({ reply }), lastReason()]).toEqual([true, 'passkey_copied']);
    expect(hasFailed(await signIn(authenticator))).toBe(false);
    await identity.audit.flush();
    const entries = await identity.audit.read({ limit: 50 });
    expect(entries.find(({ event }) => event === 'passkey_copied')).toMatchObject({
      ...{ severity: 'alert', userId: await userIdOf(alice) },
    });
  });

  test('do not sign in disabled users, or users of other organizations', async () => {
    await declare({ default: 'optional' });
    const { authenticator } = await add(createPageVisitor(), alice);
    const userId = await userIdOf(alice);
    const enable = (enabled: boolean) =>
      identity.users.update(userId, (each) => ({ ...each, enabled }));
    await enable(false);
    expect(hasFailed(await signIn(authenticator))).toBe(true);
    expect(lastReason()).toBe('account_disabled');
    await enable(true);
    const device = await server.startDevice({ client_id: screen.clientId });
    const visitor = createPageVisitor();
    const form = await follow(visitor, await server.confirmDevice(device, visitor));
    const reply = await getAnswer(visitor, form, authenticator);
    expect([hasFailed({ reply }), lastReason()]).toEqual([true, 'user_of_another_organization']);
  });

  test('replace the code of a second factor', async () => {
    await declare({ default: 'optional' });
    const { authenticator } = await add(createPageVisitor(), alice);
    const userId = await userIdOf(alice);
    const secret = identity.factors.newSecret();
    advanceSeconds(90);
    const code = codeOfApp(secret, Date.now());
    await identity.factors.enroll(userId, { secret, isFirst: false }, code);
    const visitor = createPageVisitor();
    const form = await openSignIn(visitor, { scope: 'openid' });
    const step = await follow(visitor, await visitor.submit(form, alice));
    expect(step.body).toContain('name="code"');
    const { allowCredentials } = JSON.parse(passkeyOptions(step));
    expect(allowCredentials).toEqual([
      { type: 'public-key', id: authenticator.id, transports: ['internal'] },
    ]);
    // The passkey of another user proves nothing here.
    const other = await add(createPageVisitor(), bob);
    for (const userHandle of [undefined, Buffer.from(await userIdOf(bob)).toString('base64url')]) {
      const wrong = await getAnswer(visitor, step, other.authenticator, { userHandle });
      expect([wrong.status, lastReason()]).toEqual([422, 'passkey_unknown']);
    }
    const again = await visitor.get(step.url);
    const done = await getAnswer(visitor, again, authenticator, { userHandle: undefined });
    expect((await tokensAt(visitor, await follow(visitor, done))).claims).toMatchObject({
      ...{ acr: 'phr', amr: ['pwd', 'swk', 'user', 'mfa'] },
    });
  });

  test('leave the password as a way to sign in, unless a second factor is needed', async () => {
    await declare({ default: 'optional' });
    const { authenticator, done } = await add(createPageVisitor(), alice);
    const enterPassword = async (parameters: Fields = {}) => {
      const visitor = createPageVisitor();
      const form = await openSignIn(visitor, { scope: 'openid', ...parameters });
      return { visitor, page: await follow(visitor, await visitor.submit(form, alice)) };
    };
    const { visitor, page } = await enterPassword();
    expect((await tokensAt(visitor, page)).claims.acr).toBe(ONE_FACTOR);
    for (const acr_values of [TWO_FACTORS, 'phr']) {
      expect((await enterPassword({ acr_values })).page.url).toMatch(/\/second-factor$/);
    }
    await declare({ default: 'required' });
    const required = await enterPassword();
    expect(required.page.url).toMatch(/\/second-factor$/);
    expect(required.page.body).toContain('<noscript>');
    // An attacker with the password cannot enroll another factor in its place.
    const enroll = required.page.url.replace('second-factor', 'enroll');
    const skipped = await required.visitor.get(enroll);
    expect(skipped.location).toBe(required.page.url);
    const fresh = await required.visitor.get(required.page.url);
    const signedIn = await getAnswer(required.visitor, fresh, authenticator);
    const { claims } = await tokensAt(required.visitor, await follow(required.visitor, signedIn));
    expect(claims.acr).toBe('phr');
    // A recovery code replaces a lost passkey, and works without script.
    const lost = await enterPassword();
    const [code = ''] = recoveryCodesOfPage(done);
    const codeForm = { ...lost.page, body: lost.page.body.split('</form>')[1] ?? '' };
    const recovered = await follow(lost.visitor, await lost.visitor.submit(codeForm, { code }));
    expect((await tokensAt(lost.visitor, recovered)).claims).toMatchObject({
      ...{ acr: TWO_FACTORS, amr: ['pwd', 'mfa'] },
    });
  });

  test('are enrolled at a sign-in that needs a second factor, with recovery codes', async () => {
    await declare({ default: 'required' });
    const visitor = createPageVisitor();
    const form = await openSignIn(visitor, { scope: 'openid' });
    const step = await follow(visitor, await visitor.submit(form, alice));
    expect([step.url, step.body]).toEqual([
      expect.stringMatching(/\/enroll$/),
      expect.stringContaining('<svg class="qr"'),
    ]);
    const create = (page: VisitedPage, deviation: Deviation = {}) => {
      const created = newAuthenticator().create(passkeyOptions(page), deviation);
      return answer(visitor, page, created, { name: 'Phone' });
    };
    const refused = await create(step, { userVerified: false });
    expect([refused.status, refused.body]).toEqual([422, expect.stringContaining('not added')]);
    const done = await create(refused);
    expect(recoveryCodesOfPage(done)).toHaveLength(10);
    expect(await identity.passkeys.list(await userIdOf(alice))).toHaveLength(1);
    const signedIn = await follow(visitor, await visitor.submit(done, {}));
    expect((await tokensAt(visitor, signedIn)).claims).toMatchObject({
      ...{ acr: 'phr', amr: ['pwd', 'swk', 'user', 'mfa'] },
    });
  });

  test('are not locked by wrong ones, which count for their address', async () => {
    await declare({ default: 'optional' });
    const { authenticator } = await add(createPageVisitor(), alice);
    const guess = async () => {
      const visitor = createPageVisitor();
      return getAnswer(visitor, await openSignIn(visitor, {}), authenticator, {
        alter: 'signature',
      });
    };
    for (let i = 0; i < 12; i += 1) {
      expect(hasFailed({ reply: await guess() })).toBe(true);
    }
    expect(hasFailed(await signIn(authenticator))).toBe(false);
    const key = 'sign-ins:address:127.0.0.1';
    const { attempts, windowSeconds } = addressLimit;
    await identity.store.increment(key, windowSeconds, attempts);
    expect([(await guess()).status, lastReason()]).toEqual([429, 'sign_in_address_limit']);
    expect(hasFailed(await signIn(authenticator))).toBe(false);
    await identity.store.delete([key]);
  });

  test('are not added with a certificate, without verification, twice, or beyond ten', async () => {
    await declare({ default: 'optional' });
    const visitor = createPageVisitor();
    const page = await open(visitor, PASSKEYS, alice);
    const options = passkeyOptions(page);
    const statement = new Map<string, Cbor>([
      ['alg', -7],
      ['sig', Buffer.alloc(70)],
      ['x5c', [Buffer.from('a certificate')]],
    ]);
    const deviations: Deviation[] = [
      { attestation: ['packed', statement] },
      { attestation: ['tpm', new Map()] },
      { userVerified: false },
      { origin: 'https://evil.example' },
      { type: 'webauthn.get' },
    ];
    for (const deviation of deviations) {
      const created = newAuthenticator().create(options, deviation);
      const reply = await answer(visitor, page, created, { name: 'Phone' });
      expect([deviation, reply.status]).toEqual([deviation, 422]);
    }
    expect((await answer(visitor, page, '{}', { name: 'Phone' })).status).toBe(422);
    expect(cbor(new Map([[1, -7]])).toString('hex')).toBe('a10126');

    const { authenticator } = await add(createPageVisitor(), alice);
    const { visitor: strong } = await signIn(authenticator);
    const addMore = async (one: SoftwareAuthenticator) => {
      const form = await strong.get(issuer + PASSKEYS);
      return answer(strong, form, one.create(passkeyOptions(form)), { name: 'Key' });
    };
    const twice = await addMore(authenticator);
    expect([twice.status, twice.body]).toEqual([422, expect.stringContaining('already')]);
    for (let count = 1; count < 10; count += 1) {
      expect((await addMore(newAuthenticator())).status).toBe(303);
    }
    const full = await strong.get(issuer + PASSKEYS);
    expect(full.body).toContain('You have 10 passkeys.');
    expect(full.body).not.toContain('data-options');
  });
});
