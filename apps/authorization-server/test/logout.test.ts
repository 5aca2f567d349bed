// requires: redis-server
import { createPageVisitor, type PageVisitor } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { alice, bob, implicitApp, rp, web } from './installation.ts';
import { cookiesOf, type Fields, hiddenField, outcome, startOnEngines } from './server.ts';

const systems = await startOnEngines();

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
