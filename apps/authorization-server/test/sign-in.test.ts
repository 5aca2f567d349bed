// requires: redis-server
/** The pages to sign in, consent and sign out. */
import { createPageVisitor, type PageVisitor, type VisitedPage } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { alice, bob, deceiver, implicitApp, odd, rp, web } from './installation.ts';
import {
  cookiesOf,
  type Fields,
  failToSignIn,
  hiddenField,
  outcome,
  startOnEngines,
} from './server.ts';

const systems = await startOnEngines();
const { system } = systems[0] as (typeof systems)[0];
const { issuer, authorizationUrl, get, land, open, openConsent, openSignIn } = system.first;
const { isActive, redeem, tokensFor } = system.first;

const markup = '"><script>alert(1)</script>\'';
const escaped = 'value="&quot;&gt;&lt;script&gt;';

describe('a failed sign-in', () => {
  test('looks the same for a wrong password and an unknown user, and keeps the typed username', async () => {
    const visitor = createPageVisitor();
    const form = await openSignIn(visitor);
    const bodies = [];
    for (const username of ['alice', 'nobody', markup]) {
      const { body } = await failToSignIn(visitor, form, { username, password: 'wrong password' });
      expect(body).toContain(username === markup ? escaped : `value="${username}"`);
      expect(body).not.toContain('<script>');
      bodies.push(body.replace(/ value="[^"]*"/g, ''));
    }
    expect(new Set(bodies).size).toBe(1);
  });

  test('shows the error next to the typed text, and focuses the next field', async () => {
    const visitor = createPageVisitor();
    const first = await openSignIn(visitor);
    expect(first.body).toMatch(/id="username"[^>]* autofocus/);
    const hinted = await openSignIn(createPageVisitor(), { login_hint: 'alice' });
    expect(hinted.body).toMatch(/id="password"[^>]* autofocus/);
    const typed = { username: 'alice', password: 'wrong password' };
    const { body } = await failToSignIn(visitor, first, typed);
    expect(body).toMatch(/role="alert" id="problem"/);
    expect(body).toContain('After several wrong attempts, wait 15 minutes.');
    expect(body.match(/aria-invalid="true" aria-describedby="problem"/g)).toHaveLength(2);
    expect(body).toMatch(/id="password"[^>]* autofocus/);
  });

  test('can be reloaded, also for another account', async () => {
    const visitor = createPageVisitor();
    const first = await openSignIn(visitor);
    const wrong = { username: ' Bob ', password: 'wrong password' };
    const failed = await failToSignIn(visitor, first, wrong);
    expect(failed.url).toBe(first.url);
    const reloaded = await visitor.get(failed.url);
    expect([reloaded.status, reloaded.body]).toEqual([200, failed.body]);
    const atForm = await visitor.get(`${first.url}/credentials`);
    expect([atForm.status, atForm.location]).toEqual([303, first.url]);
    const done = await visitor.submit(reloaded, { ...bob, username: ' Bob ' });
    expect(done.location).toContain('/authorize/');
    const consent = await visitor.get((await visitor.get(done.location ?? '')).location ?? '');
    const other = await visitor.get(`${consent.url}/account`);
    expect(other.body).not.toContain('role="alert"');
    expect((await failToSignIn(visitor, other, wrong)).url).toBe(other.url);
  });
});

describe.each([
  ['credentials', openSignIn, alice],
  ['decision', openConsent, { decision: 'allow' }],
] as const)('the form for %s', (_what, openForm, fields) => {
  test('needs its token, not that of another tab or browser, and comes from its own site', async () => {
    const visitor = createPageVisitor();
    const form = await openForm(visitor);
    const others = [await openForm(visitor), await openForm(createPageVisitor())];
    for (const csrf of ['', ...others.map((page) => hiddenField(page, 'csrf'))]) {
      const { status, location } = await visitor.submit(form, { ...fields, csrf });
      expect([status, location]).toEqual([403, undefined]);
    }
    const from = async (site: string) =>
      (await visitor.submit(form, fields, { 'sec-fetch-site': site })).status;
    expect([await from('cross-site'), await from('same-site')]).toEqual([403, 403]);
    expect(await from('same-origin')).toBe(303);
  });

  test('belongs to the browser that started it', async () => {
    const form = await openForm(createPageVisitor());
    const victim = createPageVisitor();
    await open(victim, '/account', bob);
    const resume = form.url.replace('/sign-in/', '/authorize/');
    const attempts = [await victim.get(form.url), await victim.submit(form, fields)];
    for (const { status, location } of [...attempts, await victim.get(resume)]) {
      expect([status, location]).toEqual([400, undefined]);
    }
  });
});

describe('a sign-in', () => {
  test('accepts no decision before it, and returns no code without a form', async () => {
    const visitor = createPageVisitor();
    const form = await openSignIn(visitor);
    const forged = { ...form, body: form.body.replace('/credentials"', '/decision"') };
    for (const decision of ['allow', 'deny']) {
      const reply = await visitor.submit(forged, { decision });
      expect([reply.status, reply.location]).toEqual([403, undefined]);
    }
    const resumed = await visitor.get(form.url.replace('/sign-in/', '/authorize/'));
    expect(resumed.location ?? '').not.toContain('code=');
  });

  test('does not open with the cookie of another one', async () => {
    const visitor = createPageVisitor();
    const [own, other] = [await openSignIn(visitor), await openSignIn(visitor)];
    const cookie = cookiesOf(visitor, new URL(own.url).pathname);
    const statuses = [];
    for (const { url } of [own, other]) {
      statuses.push((await get(url, { cookie })).status);
      statuses.push((await get(`${url}/account`, { cookie })).status);
    }
    expect(statuses).toEqual([200, 200, 400, 400]);
  });

  test('gives the session a new id, and never adopts one that an attacker set', async () => {
    const visitor = createPageVisitor();
    await land({}, alice, visitor);
    const before = visitor.cookies.get('session|/');
    await land({ prompt: 'login' }, alice, visitor);
    expect(before).toMatch(/^[\w-]{21,}$/);
    expect(visitor.cookies.get('session|/')).not.toBe(before);
    const signature = visitor.cookies.get('session.sig|/');
    for (const cookie of ['session=known', `session=known; session.sig=${signature}`]) {
      const reply = await get(authorizationUrl(), { cookie });
      expect(reply.location).toContain('/sign-in/');
      expect(reply.headers.getSetCookie().join('\n')).not.toContain('session=known');
      expect((await get('/account', { cookie })).status).toBe(303);
    }
  });

  test('redirects a GET with 302 and a form with 303, so that no redirect repeats the POST', async () => {
    const visitor = createPageVisitor();
    const toSignIn = await visitor.get(authorizationUrl());
    const posted = await visitor.submit(await visitor.get(toSignIn.location ?? ''), alice);
    const toConsent = await visitor.get(posted.location ?? '');
    const consent = await visitor.get(toConsent.location ?? '');
    const decided = await visitor.submit(consent, { decision: 'allow' });
    const answer = await visitor.get(decided.location ?? '');
    const statuses = [toSignIn, posted, toConsent, decided, answer].map(({ status }) => status);
    expect(statuses).toEqual([302, 303, 302, 303, 302]);
    expect(new URL(answer.location ?? '').searchParams.has('code')).toBe(true);
  });

  test('names blocked cookies as the cause when a browser sends none', async () => {
    const { location = '' } = await get(authorizationUrl());
    const blocked = await get(location);
    expect([blocked.status, blocked.body]).toEqual([
      400,
      expect.stringContaining('Your browser sent no cookies.'),
    ]);
    const other = await get(location, { cookie: 'session=unknown' });
    expect([other.status, other.body]).toEqual([
      400,
      expect.stringContaining('has expired or was started in another browser'),
    ]);
  });

  test('puts no credential into URLs, pages or the log', async () => {
    const visitor = createPageVisitor();
    const form = await openSignIn(visitor);
    const typed = { username: 'alice', password: 'a secret that is typed' };
    const replies = [
      await visitor.submit(form, typed),
      await visitor.submit(form, { ...typed, csrf: 'x' }),
      await visitor.submit(form, alice),
    ];
    const landing = await land({}, alice, visitor);
    const code = landing.searchParams.get('code') ?? '';
    const passwords = [typed.password, alice.password];
    for (const { body, location, headers } of replies) {
      const sent = body + location + JSON.stringify([...headers]);
      expect(passwords.filter((secret) => sent.includes(secret))).toEqual([]);
    }
    const output = await system.outputWith('"operation":"sign-in"');
    const secrets = [...passwords, web.secureKey, code, ...visitor.cookies.values()];
    expect(secrets.filter((secret) => output.includes(secret))).toEqual([]);
    expect(Math.min(...secrets.map(({ length }) => length))).toBeGreaterThan(8);
  });

  test('is in the language that the application requests (ui_locales)', async () => {
    const page = await openSignIn(createPageVisitor(), { ui_locales: 'fi zh-CN en' });
    expect(page.body).toContain('<html lang="zh-CN">');
  });

  test('escapes hint, client name and state', async () => {
    const parameters = { login_hint: markup, state: markup };
    const hinted = await openSignIn(createPageVisitor(), parameters);
    expect(hinted.body).toContain(escaped);
    const ofOdd = { client_id: odd.clientId, redirect_uri: 'https://odd.example/one' };
    const oddName = await openSignIn(createPageVisitor(), { ...ofOdd, ...parameters });
    expect(oddName.body).toContain('Odd &lt;b&gt;name&lt;/b&gt;');
    expect(hinted.body + oddName.body).not.toMatch(/<script>|<b>name/);
  });
});

describe('the consent page', () => {
  /** Submits the decision, and returns what the application receives. */
  async function decide(visitor: PageVisitor, page: VisitedPage, fields: Record<string, string>) {
    const posted = await visitor.submit(page, fields);
    return new URL((await visitor.get(posted.location ?? '')).location ?? '').searchParams;
  }

  test('shows application, organization and destination above the buttons, and a deceiving name as inert text', async () => {
    const { clientId: client_id, redirectUri: redirect_uri } = deceiver;
    const { body } = await openConsent(createPageVisitor(), { client_id, redirect_uri });
    const [aboveButtons = ''] = body.split('<button');
    for (const shown of [
      '<bdi>Bankgnp.exe &lt;i&gt;x&lt;/i&gt;</bdi>',
      '<dt>Application ID</dt><dd translate="no">deceiver</dd>',
      '<dt>Organization</dt><dd><bdi>Example</bdi></dd>',
      '<bdi translate="no">deceiver.example</bdi>',
    ]) {
      expect(aboveButtons).toContain(shown);
    }
    expect(body).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/u);
  });

  test('grants only the requested scope, whatever the form contains', async () => {
    const visitor = createPageVisitor();
    const page = await openConsent(visitor, { scope: 'device:read' });
    expect(page.body).toContain('See your devices');
    expect(page.body).not.toContain('Add devices');
    const forged = { scope: 'device:write', client_id: odd.clientId, accountId: 'another-user' };
    const landing = await decide(visitor, page, { ...forged, decision: 'allow' });
    expect((await redeem(landing.get('code') ?? '')).body.scope).toBe('device:read');
  });

  test.each([
    ['allow', 'code'],
    ['deny', 'error'],
  ])(
    'leads back to the application after %s, and cannot be submitted again',
    async (decision, member) => {
      const visitor = createPageVisitor();
      const first = await openSignIn(visitor);
      const signedIn = await visitor.submit(first, alice);
      const consent = await visitor.get(
        (await visitor.get(signedIn.location ?? '')).location ?? '',
      );
      const landing = await decide(visitor, consent, { decision });
      expect(landing.get(member)).toMatch(/^([\w-]{43}|access_denied)$/);
      for (const url of [consent.url, first.url]) {
        const { status, body } = await visitor.get(url);
        expect([status, body]).toEqual([400, expect.stringContaining('You have already finished')]);
        expect(body).toContain('href="https://app.example/">Continue<');
        expect(body).not.toContain('Alice');
      }
      const again = await visitor.submit(consent, { decision });
      expect([again.status, again.location]).toEqual([400, undefined]);
    },
  );

  test('asks once for a session, and again for more', async () => {
    const visitor = createPageVisitor();
    await land({ scope: 'device:read' }, alice, visitor);
    const again = await visitor.get(authorizationUrl({ scope: 'device:read' }));
    expect(new URL(again.location ?? '').searchParams.has('code')).toBe(true);
    const more = await open(visitor, authorizationUrl({ scope: 'device:read profile' }));
    expect(more.body).toContain('See your name and username');
  });

  test('lets the user change the account, and ends the former session with its tokens', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor({}, alice, visitor);
    const consent = await openConsent(visitor, { prompt: 'consent', scope: 'openid' });
    expect(consent.body).toContain('Alice Example');
    const page = await open(visitor, `${consent.url}/account`, bob);
    expect(page.body).toContain('Bob &lt;Example&gt;');
    expect((await decide(visitor, page, { decision: 'allow' })).has('code')).toBe(true);
    expect(await isActive(tokens.access_token)).toBe(false);
    expect((await visitor.get(`${issuer}/account`)).body).toContain('Bob &lt;Example&gt;');
    // The application can ask for another account as well.
    await land({ prompt: 'login', scope: 'openid' }, alice, visitor);
    expect((await visitor.get(`${issuer}/account`)).body).toContain('Alice Example');
  });
});

describe.each(systems)('signing out over $engine', ({ system: { first } }) => {
  const { authorizationUrl, get, isActive, issuer, land, newCode, open, redeem, tokensFor } = first;
  const ofImplicit = {
    ...{ response_type: 'token', client_id: implicitApp.clientId },
    redirect_uri: implicitApp.redirectUri,
  };
  const signOut = async (visitor: PageVisitor, query = '') =>
    visitor.submit(await visitor.get(`${issuer}/logout${query}`), { logout: 'yes' });
  const back = web.signedOutUri;
  const request = `client_id=web&post_logout_redirect_uri=${encodeURIComponent(back)}&state=a%20b`;

  test('asks first, and ends the session with its tokens, codes and cookies', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor({}, alice, visitor);
    const landing = await land(ofImplicit, alice, visitor);
    const implicit = new URLSearchParams(landing.hash.slice(1)).get('access_token') ?? '';
    const code = await newCode({}, alice, visitor);
    const cookie = cookiesOf(visitor);
    const question = await visitor.get(`${issuer}/logout`);
    for (const text of ['Alice Example', 'Example web application']) {
      expect(question.body).toContain(text);
    }
    expect(await isActive(implicit)).toBe(true);

    const reply = await visitor.submit(question, { logout: 'yes' });
    expect([reply.status, reply.location]).toEqual([303, `${issuer}/logout/success`]);
    for (const value of [tokens.access_token, tokens.refresh_token, implicit]) {
      expect(await isActive(value)).toBe(false);
    }
    expect(outcome(await redeem(code))).toEqual([400, 'invalid_grant']);
    const success = await visitor.get(reply.location ?? '');
    expect(success.body).toContain('You are signed out');
    expect(success.body).not.toContain('Alice');
    expect(cookiesOf(visitor)).not.toContain('session');
    // An old cookie is worth nothing.
    for (const url of [authorizationUrl(), authorizationUrl(ofImplicit)]) {
      expect((await get(url, { cookie })).location).toContain('/sign-in/');
    }
    expect((await get('/account', { cookie })).location).toContain('/authorize?');
  });

  test('keeps other users and other browsers signed in', async () => {
    const here = createPageVisitor();
    await tokensFor({}, alice, here);
    const others = [await tokensFor({}, alice), await tokensFor({}, bob)];
    await signOut(here);
    for (const { access_token } of others) {
      expect(await isActive(access_token)).toBe(true);
    }
  });

  test('is not undone by a concurrent request', async () => {
    const visitor = createPageVisitor();
    await tokensFor({}, alice, visitor);
    const cookie = cookiesOf(visitor);
    const question = await visitor.get(`${issuer}/logout`);
    const visits = Array.from({ length: 20 }, () => get(authorizationUrl(), { cookie }));
    const [reply] = await Promise.all([visitor.submit(question, { logout: 'yes' }), ...visits]);
    expect(reply.status).toBe(303);
    expect((await get('/account', { cookie })).status).toBe(303);
  });

  test('needs a form with its token from the same site', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor({}, alice, visitor);
    // An image on another site sends a GET.
    await visitor.get(`${issuer}/logout`, { 'sec-fetch-dest': 'image' });
    expect((await visitor.get(`${issuer}/logout/confirm`)).status).toBe(405);
    const page = await visitor.get(`${issuer}/logout`);
    expect((await visitor.submit(page, { xsrf: '', logout: 'yes' })).status).toBe(403);
    const crossSite = { 'sec-fetch-site': 'cross-site' };
    expect((await visitor.submit(page, { logout: 'yes' }, crossSite)).status).toBe(403);
    expect(hiddenField(page, 'xsrf')).toMatch(/.{20}/);
    expect(await isActive(tokens.access_token)).toBe(true);
    expect((await visitor.get(`${issuer}/account`)).status).toBe(200);
  });

  test('redirects only to a registered address, with the state', async () => {
    const visitor = createPageVisitor();
    await tokensFor({}, alice, visitor);
    const page = await visitor.get(`${issuer}/logout?${request}`);
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("form-action 'self' https://app.example");
    const reply = await visitor.submit(page, { logout: 'yes' });
    const landing = new URL(reply.location ?? '');
    expect(`${landing.origin}${landing.pathname}`).toBe(back);
    expect(landing.searchParams.get('state')).toBe('a b');

    const evil = `post_logout_redirect_uri=${encodeURIComponent('https://evil.example/')}`;
    const rejected = await visitor.get(`${issuer}/logout?client_id=web&${evil}`);
    expect([rejected.status, rejected.location]).toEqual([400, undefined]);
    const ignored = await visitor.get(`${issuer}/logout?${evil}`);
    expect(ignored.location).toBe(`${issuer}/logout/success`);
  });

  test('accepts only an ID token of this issuer as a hint, and redirects only to its client', async () => {
    const visitor = createPageVisitor();
    const hint: string = (await tokensFor({ scope: 'openid' }, alice, visitor)).id_token;
    const ask = (parameters: Fields, who = visitor) =>
      who.get(`${issuer}/logout?${new URLSearchParams(parameters)}`);
    const [header, payload = '', signature = ''] = hint.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const ofRp = encode({ ...claims, aud: rp.clientId });
    const toRp = { post_logout_redirect_uri: rp.signedOutUri };
    for (const parameters of [
      { id_token_hint: hint, ...toRp },
      { id_token_hint: hint, client_id: rp.clientId, ...toRp },
      { id_token_hint: hint, client_id: rp.clientId, post_logout_redirect_uri: back },
      { id_token_hint: `${header}.${ofRp}.${signature}`, ...toRp },
      { id_token_hint: `${encode({ alg: 'none' })}.${ofRp}.`, ...toRp },
      { id_token_hint: `${header}.${payload}.`, post_logout_redirect_uri: back },
    ]) {
      for (const who of [visitor, createPageVisitor()]) {
        const page = await ask(parameters, who);
        expect([parameters, page.status, page.location]).toEqual([parameters, 400, undefined]);
      }
    }
  });

  test('asks nothing if an application of the session presents its ID token', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor({ scope: 'openid' }, alice, visitor);
    const cookie = cookiesOf(visitor);
    const query = { id_token_hint: tokens.id_token, post_logout_redirect_uri: back, state: 'a b' };
    const reply = await visitor.get(`${issuer}/logout?${new URLSearchParams(query)}`);
    expect([reply.status, reply.location]).toEqual([302, `${back}?state=a%20b`]);
    expect(await isActive(tokens.access_token)).toBe(false);
    expect(cookiesOf(visitor)).not.toContain('session');
    expect((await get('/account', { cookie })).location).toContain('/authorize?');
  });

  test('asks if the ID token is of another user, session or application, or names no address', async () => {
    const visitor = createPageVisitor();
    const earlier = createPageVisitor();
    const tokens = await tokensFor({ scope: 'openid' }, alice, visitor);
    const ofBob = await tokensFor({ scope: 'openid' }, bob);
    const claims = JSON.stringify({ id_token: { sid: null } });
    const ofSession = await tokensFor({ scope: 'openid', claims }, alice, earlier);
    const other = createPageVisitor();
    await open(other, '/account');
    const withAddress = { post_logout_redirect_uri: back };
    for (const [who, parameters] of [
      [visitor, { id_token_hint: tokens.id_token }],
      [visitor, { client_id: web.clientId, ...withAddress }],
      [visitor, { id_token_hint: ofBob.id_token, ...withAddress }],
      [visitor, { id_token_hint: ofSession.id_token, ...withAddress }],
      // The application has no part in the session of this browser.
      [other, { id_token_hint: tokens.id_token, ...withAddress }],
    ] as const) {
      const page = await who.get(`${issuer}/logout?${new URLSearchParams(parameters)}`);
      expect([page.status, page.body.includes('Sign out?')]).toEqual([200, true]);
    }
    expect(await isActive(tokens.access_token)).toBe(true);
  });

  test('redirects at once if no user is signed in, also for a POST, without a page that submits itself', async () => {
    const reply = await get(`/logout?${request}`);
    expect([reply.status, reply.location]).toEqual([302, `${back}?state=a%20b`]);
    const plain = await get('/logout');
    expect([plain.status, plain.location]).toEqual([302, `${issuer}/logout/success`]);
    expect(plain.body).not.toContain('<script');
    const posted = await first.post('/logout', Object.fromEntries(new URLSearchParams(request)));
    const location = new URL(posted.headers.get('location') ?? '', issuer);
    expect([posted.status, location.pathname]).toEqual([303, '/logout']);
    expect(location.searchParams.get('state')).toBe('a b');
    expect((await open(createPageVisitor(), '/logout/success')).body).toContain('signed out');
  });
});
