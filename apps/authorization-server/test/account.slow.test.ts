// requires: redis-server
// runs alone: it has deadlines of seconds

import { authorizeAsUser, createPageVisitor, type PageVisitor } from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, requestToken, web } from './fixtures.ts';
import {
  bob,
  bootstrap,
  failToSignIn,
  introspect,
  openPage,
  rp,
  tokensFor,
  withForm,
} from './page-fixtures.ts';

const systems = await startOnEachEngine({
  bootstrap,
  apps: ['authorization-server', 'authorization-server'],
});

describe.each(systems)('the account page over $engine', ({ system }) => {
  const issuer = system.authorizationServerUrl;
  const server = system.authorizationServerUrls[1] ?? '';

  const open = (visitor: PageVisitor, user = alice as { username: string; password: string }) =>
    openPage(visitor, `${issuer}/account`, user);
  const everywhere = '/account/sign-out-everywhere';
  const form = async (visitor: PageVisitor, action: string, containing = '') => {
    const path = action === everywhere ? everywhere : '/account';
    return withForm(await visitor.get(`${issuer}${path}`), action, containing);
  };
  const refresh = (refreshToken: string) =>
    requestToken(server, { grant_type: 'refresh_token', refresh_token: refreshToken });

  test('asks the user to sign in, and shows their name', async () => {
    const visitor = createPageVisitor();
    const first = await visitor.get(`${issuer}/account`);
    expect([first.status, new URL(first.location ?? '').pathname]).toEqual([303, '/authorize']);
    const page = await open(visitor);
    expect([page.status, page.url]).toEqual([200, `${issuer}/account`]);
    for (const text of ['Alice Example', 'alice', 'Example', 'No application has access']) {
      expect(page.body).toContain(text);
    }
  });

  test('escapes the names of users', async () => {
    const page = await open(createPageVisitor(), bob);
    expect(page.body).toContain('Bob &lt;Example&gt;');
  });

  test('redirects a password manager to the password form, also through the sign-in', async () => {
    const visitor = createPageVisitor();
    const wellKnown = `${issuer}/.well-known/change-password`;
    const redirect = await visitor.get(wellKnown);
    expect([redirect.status, redirect.location]).toEqual([303, `${issuer}/account/password`]);
    const signedOut = await openPage(visitor, wellKnown);
    expect([signedOut.url, signedOut.status]).toEqual([`${issuer}/account/password`, 200]);
    expect((await openPage(visitor, wellKnown)).url).toBe(`${issuer}/account/password`);
  });

  test('opens only its own pages after a sign-in, whatever the state contains', async () => {
    const visitor = createPageVisitor();
    await open(visitor);
    for (const state of ['https://evil.example', '//evil.example', '__proto__', '/account/x']) {
      const query = new URLSearchParams({ state });
      const { location } = await visitor.get(`${issuer}/account/signed-in?${query}`);
      expect([state, location]).toEqual([state, `${issuer}/account`]);
    }
  });

  test('signs in with a code that no client can redeem', async () => {
    const visitor = createPageVisitor();
    let page = await visitor.get(`${issuer}/account`);
    let code: string | null = null;
    for (let step = 0; step < 8 && code === null; step += 1) {
      page = page.location ? await visitor.get(page.location) : await visitor.submit(page, alice);
      code = new URL(page.location ?? issuer).searchParams.get('code');
    }
    const redemption = {
      grant_type: 'authorization_code',
      code: code ?? '',
      client_id: 'gatehouse:account',
      redirect_uri: `${issuer}/account/signed-in`,
    };
    expect(code).not.toBeNull();
    for (const verifier of [{}, { code_verifier: 'a'.repeat(43) }]) {
      const { status } = await requestToken(issuer, { ...redemption, ...verifier }, {});
      expect(status).toBe(400);
    }
  });

  test('lists the applications with access, and revokes one of them at once', async () => {
    const visitor = createPageVisitor();
    await open(visitor, bob);
    const tokens = await tokensFor(issuer, visitor, bob);
    const page = await visitor.get(`${issuer}/account`);
    for (const text of ['Example web application', 'Application ID: web', 'Confirm who you are']) {
      expect(page.body).toContain(text);
    }
    const reply = await visitor.submit(await form(visitor, '/account/revoke', 'web'), {});
    expect([reply.status, reply.location]).toEqual([303, `${issuer}/account?done=revoked`]);
    expect(await introspect(server, tokens.access_token)).toEqual({ active: false });
    expect((await refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await visitor.get(reply.location ?? '')).body).toContain('No application has access');
  });

  test('revokes the access of one application and keeps that of the others', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor(issuer, visitor, bob);
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: rp.clientId,
      redirect_uri: rp.redirectUris[1],
    });
    await authorizeAsUser(`${issuer}/authorize?${query}`, bob, visitor);
    await visitor.submit(await form(visitor, '/account/revoke', rp.clientId), {});
    const account = await visitor.get(`${issuer}/account`);
    expect(account.body).not.toContain(`Application ID: ${rp.clientId}`);
    expect(account.body).toContain('Application ID: web');
    expect(await introspect(server, tokens.access_token)).toMatchObject({ active: true });
  });

  test('revokes no access of another user, whatever the form contains', async () => {
    const [alices, bobs] = [createPageVisitor(), createPageVisitor()];
    const tokens = await tokensFor(issuer, alices);
    await tokensFor(issuer, bobs, bob);
    const alive = await introspect(issuer, tokens.access_token);
    const { sub } = alive as unknown as { sub: string };
    expect(sub).toMatch(/^[0-9a-f]{32}$/);
    const fields = { userId: sub, user: sub, accountId: sub, sub };
    await bobs.submit(await form(bobs, '/account/revoke', 'web'), fields);
    expect(await introspect(issuer, tokens.access_token)).toMatchObject({ active: true });
  });

  test('rejects a form without a token, with the token of another session, or without a session', async () => {
    const [mine, theirs] = [createPageVisitor(), createPageVisitor()];
    await open(mine);
    await open(theirs, bob);
    const foreign = await form(theirs, '/account/sign-out-everywhere');
    const token = /name="csrf" value="([^"]*)"/.exec(foreign.body)?.[1] ?? '';
    for (const action of ['/account/sign-out-everywhere', '/account/revoke', '/account/password']) {
      for (const csrf of ['', token]) {
        const page = { ...foreign, body: `<form action="${action}">` };
        const reply = await mine.submit(page, { csrf });
        expect([action, reply.status]).toEqual([action, 403]);
      }
      const anonymous = { ...foreign, body: `<form action="${action}">` };
      expect((await createPageVisitor().submit(anonymous, { csrf: token })).status).toBe(403);
    }
    expect((await mine.get(`${issuer}/account`)).status).toBe(200);
  });

  test('changes the form token and the session id at every sign-in', async () => {
    const visitor = createPageVisitor();
    await open(visitor);
    const before = await form(visitor, '/account/sign-out-everywhere');
    const [id, signature] = ['session|/', 'session.sig|/'].map((name) => visitor.cookies.get(name));
    await visitor.submit(await visitor.get(`${issuer}/logout`), { logout: 'yes' });
    await open(visitor);
    expect(visitor.cookies.get('session|/')).not.toBe(id);
    expect((await visitor.submit(before, {})).status).toBe(403);
    const cookie = `session=${id}; session.sig=${signature}`;
    const old = await fetch(`${issuer}/account`, { headers: { cookie }, redirect: 'manual' });
    expect(old.status).toBe(303);
  });

  describe('signing out everywhere', () => {
    test('asks for confirmation on its own page', async () => {
      const visitor = createPageVisitor();
      const account = await open(visitor);
      expect(account.body).toContain(`href="${everywhere}"`);
      expect(account.body).not.toContain(`action="${everywhere}"`);
      const question = await visitor.get(`${issuer}${everywhere}`);
      expect(question.body).toContain('Sign out everywhere?');
      expect((await visitor.get(`${issuer}/account`)).status).toBe(200);
      const anonymous = await createPageVisitor().get(`${issuer}${everywhere}`);
      expect([anonymous.status, new URL(anonymous.location ?? '').pathname]).toEqual([
        303,
        '/authorize',
      ]);
    });

    test('revokes every session and token at once, on every server', async () => {
      const [here, elsewhere] = [createPageVisitor(), createPageVisitor()];
      const tokens = [await tokensFor(issuer, here), await tokensFor(issuer, elsewhere)];
      const reply = await here.submit(await form(here, '/account/sign-out-everywhere'), {});
      expect([reply.status, reply.location]).toEqual([303, `${issuer}/account/signed-out`]);
      for (const { access_token, refresh_token } of tokens) {
        expect(await introspect(server, access_token)).toEqual({ active: false });
        expect((await refresh(refresh_token)).status).toBe(400);
      }
      expect(here.cookies.has('session|/')).toBe(false);
      expect((await elsewhere.get(`${issuer}/account`)).status).toBe(303);
    });

    test('lets the user sign in again immediately', async () => {
      const visitor = createPageVisitor();
      await open(visitor);
      await visitor.submit(await form(visitor, '/account/sign-out-everywhere'), {});
      expect((await open(createPageVisitor())).body).toContain('Alice Example');
    });
  });

  describe('changing the password', () => {
    const wanted = 'a new and longer one';
    const change = async (visitor: PageVisitor, fields: Record<string, string>) =>
      visitor.submit(await visitor.get(`${issuer}/account/password`), {
        current: bob.password,
        wanted,
        repeated: fields.wanted ?? wanted,
        ...fields,
      });

    test('requires the current password and an acceptable new one', async () => {
      const visitor = createPageVisitor();
      await open(visitor, bob);
      const problems = [
        [{ current: 'wrong password' }, 'current password is wrong', ['', wanted, wanted]],
        [{ wanted: 'short' }, 'at least 8 characters', [bob.password, '', '']],
        [{ wanted: 'x'.repeat(1025) }, 'at most 1024', [bob.password, '', '']],
        [{ wanted: bob.password }, 'the one you have now', [bob.password, '', '']],
        [{ repeated: 'something else' }, 'not the same', [bob.password, '', '']],
      ] as const;
      for (const [fields, text, kept] of problems) {
        const page = await change(visitor, fields);
        expect([page.status, page.body]).toEqual([422, expect.stringContaining(text)]);
        const typed = page.body.matchAll(/type="password"[^>]* value="([^"]*)"/g);
        expect([...typed].map(([, value]) => value)).toEqual(kept);
        expect(page.headers.get('cache-control')).toBe('no-store');
        const focused = kept[0] === '' ? 'current' : 'wanted';
        expect(page.body).toMatch(new RegExp(`id="${focused}"[^>]* autofocus`));
      }
    });

    test('keeps this browser signed in under a new id, and ends all other sessions and tokens', async () => {
      const [here, elsewhere] = [createPageVisitor(), createPageVisitor()];
      await open(here, bob);
      const tokens = await tokensFor(issuer, elsewhere, bob);
      const id = here.cookies.get('session|/');
      const reply = await change(here, {});
      expect([reply.status, reply.location]).toEqual([303, `${issuer}/account?done=password`]);
      expect(here.cookies.get('session|/')).not.toBe(id);
      const page = await here.get(reply.location ?? '');
      expect([page.status, page.body]).toEqual([200, expect.stringContaining('was changed')]);
      expect((await elsewhere.get(`${issuer}/account`)).status).toBe(303);
      expect(await introspect(server, tokens.access_token)).toEqual({ active: false });
      expect((await refresh(tokens.refresh_token)).status).toBe(400);

      const again = createPageVisitor();
      const toSignIn = await again.get((await again.get(`${issuer}/account`)).location ?? '');
      const signIn = await again.get(toSignIn.location ?? '');
      await failToSignIn(again, signIn, bob);
      const known = { username: bob.username, password: wanted };
      expect((await again.submit(signIn, known)).status).toBe(303);
      expect(
        await openPage(here, `${issuer}/authorize?response_type=code&client_id=${web.clientId}`),
      ).toMatchObject({ status: 200, body: expect.stringContaining('asks for access') });
    });

    test('counts guesses in an open session together with those at the sign-in page', async () => {
      const [here, elsewhere] = [createPageVisitor(), createPageVisitor()];
      await open(here, alice);
      const again = `${issuer}/authorize?response_type=code&client_id=${web.clientId}&prompt=login`;
      const signIn = await here.get((await here.get(again)).location ?? '');
      for (let guess = 0; guess < 5; guess += 1) {
        const current = `guess number ${guess}`;
        expect((await change(here, { current })).status).toBe(422);
        const typed = { ...alice, password: current };
        await failToSignIn(here, signIn, typed);
      }
      const locked = await change(here, { current: alice.password });
      expect([locked.status, locked.body]).toEqual([
        422,
        expect.stringContaining('current password is wrong'),
      ]);
      await failToSignIn(here, signIn, alice);
      await open(elsewhere, alice);
    });
  });
});
