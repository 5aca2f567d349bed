// requires: redis-server

import { authorizeAsUser, createPageVisitor, type PageVisitor } from '@gatehouse/testing';
import { startOnEachEngine, startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, requestToken, web } from './fixtures.ts';
import {
  bob,
  bootstrap,
  implicitUrl,
  introspect,
  openPage,
  rp,
  tokensFor,
} from './page-fixtures.ts';

const SESSION = 'session|/';

const systems = await startOnEachEngine({ bootstrap, apps: ['authorization-server'] });

describe.each(systems)('signing out over $engine', ({ system }) => {
  const issuer = system.authorizationServerUrl;

  const signOut = async (visitor: PageVisitor, query = '') =>
    visitor.submit(await visitor.get(`${issuer}/logout${query}`), { logout: 'yes' });

  test('asks first, and shows the user and what a sign-out ends', async () => {
    const visitor = createPageVisitor();
    await tokensFor(issuer, visitor);
    const page = await visitor.get(`${issuer}/logout`);
    expect(page.status).toBe(200);
    expect(page.body).toContain('Alice Example');
    expect(page.body).toContain('Example web application');
  });

  test('ends the session and revokes its access, refresh and implicit tokens', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor(issuer, visitor);
    const landing = await authorizeAsUser(implicitUrl(issuer), alice, visitor);
    const implicit = new URLSearchParams(landing.hash.slice(1)).get('access_token') ?? '';
    const code = await authorizeAsUser(authorizationUrl(issuer), alice, visitor);
    expect(await introspect(issuer, implicit)).toMatchObject({ active: true });
    const reply = await signOut(visitor);
    expect([reply.status, reply.location]).toEqual([303, `${issuer}/logout/success`]);
    for (const token of [tokens.access_token, tokens.refresh_token, implicit]) {
      expect(await introspect(issuer, token)).toEqual({ active: false });
    }
    const redeemed = await requestToken(issuer, {
      grant_type: 'authorization_code',
      code: code.searchParams.get('code') ?? '',
      redirect_uri: web.redirectUri,
      client_id: web.clientId,
    });
    expect(redeemed.body.error).toBe('invalid_grant');
  });

  test('requires a new sign-in afterwards, also for an old cookie', async () => {
    const visitor = createPageVisitor();
    await tokensFor(issuer, visitor);
    const old = visitor.cookies.get(SESSION);
    const signature = visitor.cookies.get('session.sig|/');
    await signOut(visitor);
    expect(visitor.cookies.has(SESSION)).toBe(false);
    expect(visitor.cookies.has('session.sig|/')).toBe(false);
    const cookie = `session=${old}; session.sig=${signature}`;
    for (const url of [authorizationUrl(issuer), implicitUrl(issuer)]) {
      const reply = await fetch(url, { redirect: 'manual', headers: { cookie } });
      expect(reply.headers.get('location')).toContain('/sign-in/');
    }
    const account = await fetch(`${issuer}/account`, { redirect: 'manual', headers: { cookie } });
    expect(account.headers.get('location')).toContain('/authorize?');
  });

  test('keeps other users and other browsers signed in', async () => {
    const [here, elsewhere, bobs] = [createPageVisitor(), createPageVisitor(), createPageVisitor()];
    await tokensFor(issuer, here);
    const other = await tokensFor(issuer, elsewhere);
    const foreign = await tokensFor(issuer, bobs, bob);
    await signOut(here);
    for (const { access_token } of [other, foreign]) {
      expect(await introspect(issuer, access_token)).toMatchObject({ active: true });
    }
  });

  test('is not undone by a concurrent request', async () => {
    const visitor = createPageVisitor();
    await tokensFor(issuer, visitor);
    const cookie = `session=${visitor.cookies.get(SESSION)}; session.sig=${visitor.cookies.get('session.sig|/')}`;
    const question = await visitor.get(`${issuer}/logout`);
    const visits = Array.from({ length: 20 }, () =>
      fetch(authorizationUrl(issuer), { headers: { cookie }, redirect: 'manual' }),
    );
    const [reply] = await Promise.all([visitor.submit(question, { logout: 'yes' }), ...visits]);
    expect(reply.status).toBe(303);
    const account = await fetch(`${issuer}/account`, { redirect: 'manual', headers: { cookie } });
    expect(account.status).toBe(303);
  });
});

const system = await startSystem({ engine: 'sqlite', bootstrap, apps: ['authorization-server'] });
const issuer = system.authorizationServerUrl;

describe('the logout pages', () => {
  const back = 'https://app.example/signed-out';
  const request = `client_id=${web.clientId}&post_logout_redirect_uri=${encodeURIComponent(back)}&state=a%20b`;

  test('do not sign out for a GET, such as an image on another site sends', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor(issuer, visitor);
    await visitor.get(`${issuer}/logout`, { 'sec-fetch-dest': 'image' });
    expect((await visitor.get(`${issuer}/logout/confirm`)).status).toBe(405);
    expect(await introspect(issuer, tokens.access_token)).toMatchObject({ active: true });
    expect((await visitor.get(`${issuer}/account`)).status).toBe(200);
  });

  test('reject a confirmation without the token, or from another site', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor(issuer, visitor);
    const page = await visitor.get(`${issuer}/logout`);
    expect((await visitor.submit(page, { xsrf: '', logout: 'yes' })).status).toBe(403);
    const cookie = [...visitor.cookies]
      .filter(([name]) => name.endsWith('|/'))
      .map(([name, value]) => `${name.split('|')[0]}=${value}`)
      .join('; ');
    const token = /name="xsrf" value="([^"]*)"/.exec(page.body)?.[1] ?? '';
    const crossSite = await fetch(`${issuer}/logout/confirm`, {
      method: 'POST',
      headers: { cookie, 'sec-fetch-site': 'cross-site' },
      body: new URLSearchParams({ xsrf: token, logout: 'yes' }),
    });
    expect(crossSite.status).toBe(403);
    expect(await introspect(issuer, tokens.access_token)).toMatchObject({ active: true });
  });

  test('redirect only to a registered address, with the state', async () => {
    const visitor = createPageVisitor();
    await tokensFor(issuer, visitor);
    const page = await visitor.get(`${issuer}/logout?${request}`);
    expect(page.headers.get('content-security-policy')).toContain(
      "form-action 'self' https://app.example",
    );
    const reply = await visitor.submit(page, { logout: 'yes' });
    const landing = new URL(reply.location ?? '');
    expect(`${landing.origin}${landing.pathname}`).toBe(back);
    expect(landing.searchParams.get('state')).toBe('a b');

    const evil = encodeURIComponent('https://evil.example/');
    const query = `client_id=web&post_logout_redirect_uri=${evil}`;
    const rejected = await visitor.get(`${issuer}/logout?${query}`);
    expect([rejected.status, rejected.location]).toEqual([400, undefined]);
    const anonymous = `post_logout_redirect_uri=${evil}`;
    const ignored = await visitor.get(`${issuer}/logout?${anonymous}`);
    expect(ignored.location).toBe(`${issuer}/logout/success`);
  });

  test('accept only an ID token of this issuer as a hint, and redirect only to its client', async () => {
    const visitor = createPageVisitor();
    const { id_token: hint } = (await tokensFor(issuer, visitor)) as unknown as {
      readonly id_token: string;
    };
    const ask = (parameters: Record<string, string>, who = visitor) =>
      who.get(`${issuer}/logout?${new URLSearchParams(parameters)}`);
    const [header, payload = '', signature = ''] = hint.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const ofRp = encode({ ...claims, aud: rp.clientId });
    const unsigned = encode({ alg: 'none' });
    const toRp = { post_logout_redirect_uri: rp.postLogoutRedirectUris[0] };
    const rejected = [
      { id_token_hint: hint, ...toRp },
      { id_token_hint: hint, client_id: rp.clientId, ...toRp },
      { id_token_hint: hint, client_id: rp.clientId, post_logout_redirect_uri: back },
      { id_token_hint: `${header}.${ofRp}.${signature}`, ...toRp },
      { id_token_hint: `${unsigned}.${ofRp}.`, ...toRp },
      { id_token_hint: `${header}.${payload}.`, post_logout_redirect_uri: back },
    ];
    for (const parameters of rejected) {
      for (const who of [visitor, createPageVisitor()]) {
        const page = await ask(parameters, who);
        expect([parameters, page.status, page.location]).toEqual([parameters, 400, undefined]);
      }
    }
    const page = await ask({ id_token_hint: hint, post_logout_redirect_uri: back });
    expect((await visitor.submit(page, { logout: 'yes' })).location).toBe(back);
  });

  test('redirect at once if no user is signed in, without a page that submits itself', async () => {
    const visitor = createPageVisitor();
    const reply = await visitor.get(`${issuer}/logout?${request}`);
    expect([reply.status, reply.location]).toEqual([302, `${back}?state=a%20b`]);
    const plain = await visitor.get(`${issuer}/logout`);
    expect([plain.status, plain.location]).toEqual([302, `${issuer}/logout/success`]);
    expect(plain.body).not.toContain('<script');
  });

  test('accept a POST from an application', async () => {
    const body = new URLSearchParams(request);
    const reply = await fetch(`${issuer}/logout`, { method: 'POST', body, redirect: 'manual' });
    expect(reply.status).toBe(303);
    const location = new URL(reply.headers.get('location') ?? '', issuer);
    expect(location.pathname).toBe('/logout');
    expect(location.searchParams.get('state')).toBe('a b');
  });

  test('are no-store if they are about a user', async () => {
    const visitor = createPageVisitor();
    await tokensFor(issuer, visitor);
    for (const path of ['/account', '/account/password', '/logout', '/device']) {
      const { headers } = await visitor.get(issuer + path);
      expect([path, headers.get('cache-control')]).toEqual([path, 'no-store']);
    }
    const reply = await visitor.submit(await visitor.get(`${issuer}/logout`), { logout: 'yes' });
    const success = await visitor.get(reply.location ?? '');
    expect(success.headers.get('cache-control')).toBe('no-store');
    expect(success.body).not.toContain('Alice');
    const account = await openPage(visitor, `${issuer}/logout/success`);
    expect(account.body).toContain('You are signed out');
  });
});
