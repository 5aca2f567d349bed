/** Second factors: enrollment, sign-in, step-up, and what a password alone cannot do. */
import { codeLimit, ONE_FACTOR, type SecondFactorSettings, TWO_FACTORS } from '@gatehouse/identity';
import {
  codeOfApp,
  createPageVisitor,
  integrationEngines,
  type PageVisitor,
  recoveryCodesOfPage,
  secretOfPage,
  until,
  type VisitedPage,
} from '@gatehouse/testing';
import { onEachEngine } from '@gatehouse/testing/suite';
import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { advanceSeconds, startInProcess } from './in-process-server.ts';
import { alice, bob, carol, full, rp, tv, web } from './installation.ts';
import { as, type Fields, type User } from './server.ts';

const FACTORS = '/account/second-factor';

const servers = await onEachEngine((engine) => startInProcess({ engine }), integrationEngines);

describe.each(servers)('a second factor on $engine', ({ system: server }) => {
  const { identity, issuer, get, open, openSignIn, authorizationUrl, redeem, introspect } = server;

  const declare = async (secondFactor: Partial<SecondFactorSettings>) => {
    const maps = { organizations: {}, roles: {}, clients: {} };
    await identity.settings.apply({ secondFactor: { ...maps, ...secondFactor } });
    advanceSeconds(1);
  };
  const userIdOf = async ({ username }: User) =>
    (await identity.users.findByUsername(username))?.userId ?? '';
  const codeOf = (secret: string) => {
    // A code works once.
    advanceSeconds(90);
    return codeOfApp(secret, Date.now());
  };
  /** A user with an app, without the pages. */
  async function enroll(user: User) {
    const secret = identity.factors.newSecret();
    const added = { secret, isFirst: false };
    const codes = await identity.factors.enroll(await userIdOf(user), added, codeOf(secret));
    return { secret, codes: codes ?? [] };
  }
  const lastReason = () => server.logLines().at(-1)?.reason;

  async function follow(visitor: PageVisitor, from: VisitedPage): Promise<VisitedPage> {
    let page = from;
    for (let i = 0; i < 12 && page.location?.startsWith(issuer) === true; i += 1) {
      page = await visitor.get(page.location);
    }
    return page;
  }
  /** Enters the password, and returns the page after it. */
  async function enterPassword(visitor: PageVisitor, user: User, parameters: Fields = {}) {
    const form = await openSignIn(visitor, { scope: 'openid', ...parameters });
    return follow(visitor, await visitor.submit(form, user));
  }
  const enterCode = async (visitor: PageVisitor, page: VisitedPage, code: string) =>
    follow(visitor, await visitor.submit(page, { code }));
  /** Allows the access if asked. */
  async function allow(visitor: PageVisitor, page: VisitedPage) {
    const asked = page.body.includes('name="decision"');
    return asked ? follow(visitor, await visitor.submit(page, { decision: 'allow' })) : page;
  }
  async function tokensAt(visitor: PageVisitor, page: VisitedPage) {
    const { location = '' } = await allow(visitor, page);
    const code = new URL(location).searchParams.get('code') ?? '';
    const { body } = await redeem(code);
    return { ...body, claims: decodeJwt(body.id_token) };
  }
  const errorAt = ({ location = '' }: VisitedPage) => new URL(location).searchParams.get('error');
  const essential = (value: string) =>
    JSON.stringify({ id_token: { acr: { essential: true, value } } });

  afterEach(async () => {
    await declare({});
    for (const user of [alice, bob, carol]) {
      await identity.factors.remove(await userIdOf(user));
      await identity.signInLocks.unlock({ ...user, userId: await userIdOf(user) });
    }
  });

  test('is neither offered nor asked for while operators have it off', async () => {
    await enroll(alice);
    const visitor = createPageVisitor();
    expect((await open(visitor, '/account')).body).not.toContain(FACTORS);
    expect((await visitor.get(issuer + FACTORS)).status).toBe(404);
    // A voluntary acr is not a reason to fail (OpenID Connect Core §5.5.1.1).
    const asked = await visitor.get(authorizationUrl({ scope: 'openid', acr_values: TWO_FACTORS }));
    expect((await tokensAt(visitor, await follow(visitor, asked))).claims).toMatchObject({
      ...{ acr: ONE_FACTOR, amr: ['pwd'] },
    });
    const claims = essential(TWO_FACTORS);
    const rejected = await visitor.get(authorizationUrl({ scope: 'openid', claims }));
    expect(errorAt(rejected)).toBe('unmet_authentication_requirements');
  });

  test('is enrolled on the account page, then asked for, and each code signs in once', async () => {
    await declare({ default: 'optional' });
    const visitor = createPageVisitor();
    expect((await open(visitor, '/account', bob)).body).toContain(FACTORS);
    const form = await visitor.get(issuer + FACTORS);
    const secret = secretOfPage(form);
    expect(form.headers.get('cache-control')).toBe('no-store');
    const refused = await visitor.submit(form, { code: '000000' });
    expect([refused.status, secretOfPage(refused)]).toEqual([422, secret]);
    const code = codeOf(secret);
    const done = await visitor.submit(refused, { code });
    expect([done.status, recoveryCodesOfPage(done).length]).toEqual([200, 10]);
    // The session proved the factor, and the code is used.
    expect((await visitor.get(issuer + FACTORS)).body).toMatch(
      /codes left: 10(?:.|\n)*value="off"/,
    );
    expect((await visitor.submit(refused, { code })).status).toBe(422);

    const other = createPageVisitor();
    const step = await enterPassword(other, bob);
    expect(step.url).toMatch(/\/second-factor$/);
    const used = await other.submit(step, { code });
    expect([used.status, used.body]).toEqual([422, expect.stringContaining('already used')]);
    const next = codeOf(secret);
    const tokens = await tokensAt(other, await enterCode(other, used, next));
    expect(tokens.claims).toMatchObject({ acr: TWO_FACTORS, amr: ['pwd', 'otp', 'mfa'] });
    expect(await introspect(tokens.access_token)).toMatchObject({
      ...{ active: true, acr: TWO_FACTORS, amr: ['pwd', 'otp', 'mfa'] },
      auth_time: expect.any(Number),
    });
    const again = createPageVisitor();
    expect((await again.submit(await enterPassword(again, bob), { code: next })).status).toBe(422);
    expect(lastReason()).toBe('second_factor_wrong');
  });

  test('can be a recovery code, which works once', async () => {
    await declare({ organizations: { 'org-1': 'optional' } });
    const { codes } = await enroll(alice);
    const visitor = createPageVisitor();
    const page = await enterCode(visitor, await enterPassword(visitor, alice), codes[0] ?? '');
    expect((await tokensAt(visitor, page)).claims).toMatchObject({
      ...{ acr: TWO_FACTORS, amr: ['pwd', 'mfa'] },
    });
    const other = createPageVisitor();
    const step = await enterPassword(other, alice);
    expect((await other.submit(step, { code: codes[0] ?? '' })).status).toBe(422);
    expect((await enterCode(other, step, codes[1] ?? '')).body).toContain('name="decision"');
  });

  test('cannot be skipped: the other addresses of the sign-in lead back to the step', async () => {
    await declare({ default: 'optional' });
    const { secret } = await enroll(alice);
    const visitor = createPageVisitor();
    const step = await enterPassword(visitor, alice);
    const base = step.url.replace('/second-factor', '');
    for (const path of ['/enroll', '/new-password']) {
      const { status, location } = await visitor.get(base + path);
      expect([path, status, location]).toEqual([path, 303, step.url]);
      const posted = await visitor.submit(
        { ...step, body: step.body.replaceAll('/second-factor', path) },
        { decline: 'yes', code: codeOf(secret) },
      );
      expect([path, posted.status, posted.location]).toEqual([path, 303, step.url]);
    }
    const resumed = await visitor.get(base.replace('/sign-in/', '/authorize/'));
    expect([resumed.status, resumed.body]).toEqual([400, expect.stringContaining('not found')]);
    // Another browser has no proof of the password.
    expect((await get(step.url)).status).toBe(400);
  });

  test('is enrolled at the next sign-in where it is required, also by signed-in users', async () => {
    const visitor = createPageVisitor();
    await open(visitor, '/account', carol);
    await declare({ roles: { admin: 'required' } });
    const none = await visitor.get(authorizationUrl({ scope: 'openid', prompt: 'none' }));
    expect(errorAt(none)).toBe('login_required');
    const form = await enterPassword(visitor, carol);
    expect(form.url).toMatch(/\/enroll$/);
    expect(form.body).not.toContain('name="decline"');
    expect((await visitor.submit(form, { decline: 'yes' })).status).toBe(422);
    // A secret that was sealed for another user is not one.
    const userId = await userIdOf(bob);
    const secret = identity.factors.newSecret();
    const until = Date.now() + 1e6;
    const pending = identity.sealer.seal(`${secret} ${until}`, `factor-enrollment:${userId}`);
    expect((await visitor.submit(form, { pending, code: codeOf(secret) })).status).toBe(422);

    const done = await visitor.submit(form, { code: codeOf(secretOfPage(form)) });
    expect(recoveryCodesOfPage(done)).toHaveLength(10);
    const tokens = await tokensAt(visitor, await follow(visitor, await visitor.submit(done, {})));
    expect(tokens.claims).toMatchObject({ acr: TWO_FACTORS });
    const others = await enterPassword(createPageVisitor(), alice);
    expect(others.body).toContain('name="decision"');
    // Turning it off is not possible.
    const manage = await visitor.get(issuer + FACTORS);
    expect(manage.body).not.toContain('value="off"');
    expect((await visitor.submit(manage, { change: 'off' })).status).toBe(422);
    expect((await identity.factors.describe(await userIdOf(carol))).app).toBeDefined();
  });

  test('is changed only after a recent sign-in with it', async () => {
    await declare({ default: 'optional' });
    const { secret } = await enroll(alice);
    const visitor = createPageVisitor();
    await enterCode(visitor, await enterPassword(visitor, alice), codeOf(secret));
    const manage = await visitor.get(issuer + FACTORS);
    const renewed = await visitor.submit(manage, { change: 'codes' });
    expect(recoveryCodesOfPage(renewed)).toHaveLength(10);
    advanceSeconds(601);
    for (const page of [
      await visitor.get(issuer + FACTORS),
      await visitor.submit(manage, { change: 'off' }),
    ]) {
      expect([page.status, page.location]).toEqual([303, expect.stringContaining('prompt=login')]);
    }
    const again = await follow(visitor, await visitor.get(issuer + FACTORS));
    const step = await follow(visitor, await visitor.submit(again, alice));
    const back = await enterCode(visitor, step, codeOf(secret));
    expect(back.url).toBe(issuer + FACTORS);
    const off = await visitor.submit(back, { change: 'off' });
    expect(off.location).toBe(`${issuer}/account?done=factorsRemoved`);
    expect((await identity.factors.describe(await userIdOf(alice))).app).toBeUndefined();
  });

  test('does not change by a session from before it', async () => {
    await declare({ default: 'optional' });
    const visitor = createPageVisitor();
    await open(visitor, '/account', alice);
    const form = await visitor.get(issuer + FACTORS);
    await enroll(alice);
    const refused = await visitor.submit(form, { code: codeOf(secretOfPage(form)) });
    expect(refused.location).toContain('prompt=login');
  });

  test('is asked for by a client that has it, after a sign-in at one that does not', async () => {
    const { secret } = await enroll(alice);
    await declare({ clients: { [web.clientId]: 'optional' } });
    const visitor = createPageVisitor();
    const other = { client_id: rp.clientId, redirect_uri: rp.redirectUris[0] };
    const consent = await enterPassword(visitor, alice, other);
    expect(consent.body).toContain('name="decision"');
    await visitor.submit(consent, { decision: 'allow' });
    expect((await enterPassword(visitor, alice)).url).toMatch(/\/second-factor$/);
    // As a sign-in at the account page does.
    for (const path of ['/account', '/account/password', '/account/sign-out-everywhere']) {
      const { status, location } = await visitor.get(issuer + path);
      expect([status, location]).toEqual([303, expect.stringContaining('prompt=login')]);
    }
    const form = await follow(visitor, await visitor.get(`${issuer}/account`));
    const step = await follow(visitor, await visitor.submit(form, alice));
    expect((await enterCode(visitor, step, codeOf(secret))).url).toBe(`${issuer}/account`);
  });

  test('is asked for by a device, after a sign-in at a client that does not', async () => {
    await enroll(alice);
    await declare({ clients: { [tv.clientId]: 'required' } });
    const visitor = createPageVisitor();
    const consent = await enterPassword(visitor, alice);
    await visitor.submit(consent, { decision: 'allow' });
    const device = await server.startDevice();
    const form = await follow(visitor, await server.confirmDevice(device, visitor));
    expect(form.body).toContain('name="password"');
    expect((await follow(visitor, await visitor.submit(form, alice))).url).toMatch(
      /\/second-factor$/,
    );
  });

  test('is what a request can ask for, and a voluntary one can be declined', async () => {
    await declare({ clients: { [web.clientId]: 'optional' } });
    const visitor = createPageVisitor();
    await open(visitor, '/account', alice);
    const ask = async (parameters: Fields) => {
      const form = await follow(
        visitor,
        await visitor.get(authorizationUrl({ scope: 'openid', ...parameters })),
      );
      return follow(visitor, await visitor.submit(form, alice));
    };
    const decline = async (page: VisitedPage) =>
      follow(visitor, await visitor.submit(page, { decline: 'yes' }));
    const voluntary = await decline(await ask({ acr_values: TWO_FACTORS }));
    expect((await tokensAt(visitor, voluntary)).claims).toMatchObject({ acr: ONE_FACTOR });
    const silent = { prompt: 'none', scope: 'openid', acr_values: TWO_FACTORS };
    expect(errorAt(await visitor.get(authorizationUrl(silent)))).toBeNull();
    const insisted = await decline(await ask({ claims: essential(TWO_FACTORS) }));
    expect(errorAt(insisted)).toBe('unmet_authentication_requirements');
    const withoutPasskey = await ask({ claims: essential('phr') });
    expect(errorAt(withoutPasskey)).toBe('unmet_authentication_requirements');

    const form = await ask({ acr_values: TWO_FACTORS });
    const secret = secretOfPage(form);
    const done = await visitor.submit(form, { code: codeOf(secret) });
    const signedIn = await follow(visitor, await visitor.submit(done, {}));
    expect((await tokensAt(visitor, signedIn)).claims).toMatchObject({ acr: TWO_FACTORS });
    // A stronger session satisfies a weaker request, and reports what was requested.
    for (const claims of [essential(TWO_FACTORS), essential(ONE_FACTOR)]) {
      const page = await visitor.get(authorizationUrl({ scope: 'openid', prompt: 'none', claims }));
      const { value } = JSON.parse(claims).id_token.acr;
      expect((await tokensAt(visitor, page)).claims.acr).toBe(value);
    }
    advanceSeconds(120);
    const old = await ask({ max_age: '100', acr_values: TWO_FACTORS });
    expect(old.url).toMatch(/\/second-factor$/);
    const before = Math.floor(Date.now() / 1000);
    const renewed = await tokensAt(visitor, await enterCode(visitor, old, codeOf(secret)));
    expect(renewed.claims.auth_time).toBeGreaterThanOrEqual(before);
    expect((await get('/.well-known/openid-configuration')).body).toContain(
      `"acr_values_supported":["${ONE_FACTOR}","${TWO_FACTORS}","phr"]`,
    );
  });

  test('is not guessed: wrong codes lock the account for this device, until an unlock', async () => {
    await declare({ default: 'optional' });
    const { secret, codes } = await enroll(bob);
    const known = createPageVisitor();
    await enterCode(known, await enterPassword(known, bob), codeOf(secret));
    const visitor = createPageVisitor();
    const step = await enterPassword(visitor, bob);
    const bodies = new Set<string>();
    const guess = async (code: string) => {
      const { status, body } = await visitor.submit(step, { code });
      bodies.add(`${status} ${body}`);
    };
    await Promise.all(Array.from({ length: 12 }, (_, i) => guess(`00000${i}`)));
    await guess(codeOf(secret));
    await guess(codes[0] ?? '');
    expect(bodies.size).toBe(1);
    expect(lastReason()).toBe('account_locked');
    // The right codes were not used up, and the browser of an earlier sign-in has its own count.
    expect((await identity.factors.describe(await userIdOf(bob))).recoveryCodes).toBe(10);
    const again = await known.get(authorizationUrl({ scope: 'openid', prompt: 'login' }));
    const form = await follow(known, again);
    const own = await follow(known, await known.submit(form, bob));
    expect((await enterCode(known, own, codeOf(secret))).body).toContain('name="decision"');
    expect(await identity.signInLocks.list({ ...bob, userId: await userIdOf(bob) })).toEqual([
      { kind: 'account', until: expect.any(Number) },
    ]);
    await identity.signInLocks.unlock({ ...bob, userId: await userIdOf(bob) });
    const unlocked = await enterPassword(visitor, bob);
    expect((await enterCode(visitor, unlocked, codeOf(secret))).body).toContain('name="decision"');
  });

  test('is not guessed slowly: thirty wrong codes in a day lock the account', async () => {
    await declare({ default: 'optional' });
    const { secret } = await enroll(bob);
    const { store, signInLocks } = identity;
    const key = signInLocks.codesKey(signInLocks.accountKey(bob.username));
    // As if they were entered over the day.
    await store.increment(key, codeLimit.windowSeconds, codeLimit.attempts);
    const visitor = createPageVisitor();
    const user = await identity.users.findByUsername(bob.username);
    const { userId = '' } = user ?? {};
    const token = await identity.actionLinks.issue({ kind: 'reset', userId });
    const reset = await visitor.get(`${issuer}/reset-password?token=${token}`);
    const password = 'seven tall lanterns';
    // A mailbox gives no more guesses.
    expect(await visitor.submit(reset, { wanted: password, repeated: password })).toMatchObject({
      status: 303,
    });
    const step = await enterPassword(visitor, { ...bob, password });
    expect((await visitor.submit(step, { code: codeOf(secret) })).status).toBe(422);
    expect(lastReason()).toBe('account_locked');
    await identity.users.update(user?.userId ?? '', (each) => ({
      ...each,
      passwordHash: user?.passwordHash,
    }));
  });

  test('is not bypassed by the password grant', async () => {
    const signIn = async (user: User) => {
      const { length } = server.logLines();
      const { status, body } = await server.token({ grant_type: 'password', ...user }, as(full));
      // The line of a failure waits for the id of the user, and the reply does not.
      await until(() => server.logLines().length > length);
      return [status, body.error, lastReason()];
    };
    const wrong = await server.token(
      { grant_type: 'password', ...alice, password: 'wrong' },
      as(full),
    );
    const { secret } = await enroll(alice);
    expect((await signIn(alice))[0]).toBe(200);
    await declare({ default: 'optional' });
    const rejected = await server.token({ grant_type: 'password', ...alice }, as(full));
    expect(rejected.body).toEqual(wrong.body);
    const required = [400, 'invalid_grant', 'second_factor_required'];
    expect(await signIn(alice)).toEqual(required);
    expect((await signIn(bob))[0]).toBe(200);
    await declare({ clients: { [full.clientId]: 'required' } });
    expect(await signIn(bob)).toEqual(required);
    await declare({});
    const userId = await userIdOf(bob);
    const mustChange = (mustChangePassword: boolean | undefined) =>
      identity.users.update(userId, (each) => ({ ...each, mustChangePassword }));
    await mustChange(true);
    expect(await signIn(bob)).toEqual([400, 'invalid_grant', 'password_change_required']);
    await mustChange(undefined);
    expect(secret).not.toBe('');
  });

  test('is in the audit trail: enrollment, failures, recovery codes and the methods', async () => {
    await declare({ default: 'optional' });
    const visitor = createPageVisitor();
    await open(visitor, '/account', carol);
    const form = await visitor.get(issuer + FACTORS);
    const done = await visitor.submit(form, { code: codeOf(secretOfPage(form)) });
    const [code = ''] = recoveryCodesOfPage(done);
    const other = createPageVisitor();
    const step = await enterPassword(other, carol);
    await other.submit(step, { code: '000000' });
    await enterCode(other, step, code);
    await identity.audit.flush();
    const userId = await userIdOf(carol);
    const found = JSON.stringify(await identity.audit.read({ userId, limit: 100 }));
    for (const each of [
      '"change":"factor_enrolled"',
      '"change":"recovery_code_used"',
      '"reason":"second_factor_wrong"',
      '"amr":["pwd","mfa"]',
    ]) {
      expect(found).toContain(each);
    }
    expect(found).not.toContain(code);
  });
});
