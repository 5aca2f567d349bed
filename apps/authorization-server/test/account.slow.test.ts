// requires: redis-server
// runs alone: it has deadlines of seconds

import { createPageVisitor, type PageVisitor } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { alice, bob, carol } from './installation.ts';
import {
  type Fields,
  failToSignIn,
  hiddenField,
  refreshing,
  startOnEngines,
  type User,
  withForm,
} from './server.ts';

const systems = await startOnEngines({ servers: 2 });

describe.each(systems)('the account page over $engine', ({ system: { first, second } }) => {
  const { authorizationUrl, get, issuer, open, openSignIn, redeem, tokensFor } = first;
  const { isActive, token } = second;
  const everywhere = '/account/sign-out-everywhere';
  const signIn = (visitor: PageVisitor, user: User = alice) => open(visitor, '/account', user);
  const form = async (visitor: PageVisitor, action: string, containing = '') => {
    const path = action === everywhere ? everywhere : '/account';
    return withForm(await visitor.get(issuer + path), action, containing);
  };

  test('asks the user to sign in, and shows the facts of the user', async () => {
    const visitor = createPageVisitor();
    const before = await visitor.get(`${issuer}/account`);
    expect([before.status, new URL(before.location ?? '').pathname]).toEqual([303, '/authorize']);
    const page = await signIn(visitor, carol);
    expect([page.status, page.url]).toEqual([200, `${issuer}/account`]);
    const facts = ['Carol Example', 'carol', 'Example', 'carol@example.com', 'admin and plant 7'];
    for (const text of [...facts, 'No application has access']) {
      expect(page.body).toContain(text);
    }
    expect(page.body).not.toContain('not verified');
    const ofBob = await signIn(createPageVisitor(), bob);
    expect(ofBob.body).toContain('Bob &lt;Example&gt;');
    expect(ofBob.body).not.toContain('Roles');
  });

  test('redirects a password manager to the password form, also through the sign-in', async () => {
    const visitor = createPageVisitor();
    const wellKnown = '/.well-known/change-password';
    const redirect = await get(wellKnown);
    expect([redirect.status, redirect.location]).toEqual([303, `${issuer}/account/password`]);
    for (const page of [await open(visitor, wellKnown), await open(visitor, wellKnown)]) {
      expect([page.url, page.status]).toEqual([`${issuer}/account/password`, 200]);
    }
  });

  test.each(['https://evil.example', '//evil.example', '__proto__', '/account/x'])(
    'opens only its own pages after a sign-in, whatever the state contains: %s',
    async (state) => {
      const visitor = createPageVisitor();
      await signIn(visitor);
      const query = new URLSearchParams({ state });
      const { location } = await visitor.get(`${issuer}/account/signed-in?${query}`);
      expect(location).toBe(`${issuer}/account`);
    },
  );

  test('signs in with a code that no client can redeem', async () => {
    const visitor = createPageVisitor();
    let page = await visitor.get(`${issuer}/account`);
    let code: string | null = null;
    for (let step = 0; step < 8 && code === null; step += 1) {
      page = page.location ? await visitor.get(page.location) : await visitor.submit(page, alice);
      code = new URL(page.location ?? issuer).searchParams.get('code');
    }
    expect(code).not.toBeNull();
    const redirect_uri = `${issuer}/account/signed-in`;
    const fields = { client_id: 'gatehouse:account', redirect_uri };
    for (const verifier of [{}, { code_verifier: 'a'.repeat(43) }]) {
      expect((await redeem(code ?? '', { ...fields, ...verifier }, {})).status).toBe(400);
    }
  });

  test.each([everywhere, '/account/revoke', '/account/password'])(
    'rejects a form without its token, with that of another session, or without a session: %s',
    async (action) => {
      const [mine, theirs] = [createPageVisitor(), createPageVisitor()];
      await signIn(mine);
      await signIn(theirs, bob);
      const foreign = await form(theirs, everywhere);
      const csrf = hiddenField(foreign, 'csrf');
      const page = { ...foreign, body: `<form action="${action}">` };
      for (const reply of [
        await mine.submit(page, { csrf: '' }),
        await mine.submit(page, { csrf }),
        await createPageVisitor().submit(page, { csrf }),
      ]) {
        expect(reply.status).toBe(403);
      }
      expect((await mine.get(`${issuer}/account`)).status).toBe(200);
    },
  );

  test('reports that the user was signed out if a form arrives without a session', async () => {
    const [visitor, elsewhere] = [createPageVisitor(), createPageVisitor()];
    await signIn(visitor, bob);
    const password = await visitor.get(`${issuer}/account/password`);
    const question = await visitor.get(`${issuer}/logout`);
    await signIn(elsewhere, bob);
    await elsewhere.submit(await form(elsewhere, everywhere), {});
    const reply = await visitor.submit(password, { current: 'x', wanted: 'y', repeated: 'y' });
    const signedOut = expect.stringContaining('You were signed out in the meantime.');
    expect([reply.status, reply.body]).toEqual([403, signedOut]);
    expect(reply.body).toContain('href="/account">Sign in again<');
    await visitor.submit(question, { logout: 'yes' });
    expect((await visitor.submit(question, { logout: 'yes' })).body).toEqual(signedOut);
  });

  describe('changing the password', () => {
    const wanted = 'a new and longer one';
    const change = async (visitor: PageVisitor, fields: Fields, user: User = bob) =>
      visitor.submit(await visitor.get(`${issuer}/account/password`), {
        current: user.password,
        wanted,
        repeated: fields.wanted ?? wanted,
        ...fields,
      });

    test.each<[string, Fields, readonly string[]]>([
      ['current password is wrong', { current: 'wrong password' }, ['', wanted, wanted]],
      ['at least 8 characters', { wanted: 'short' }, [bob.password, '', '']],
      ['at most 1024', { wanted: 'x'.repeat(1025) }, [bob.password, '', '']],
      ['the one you have now', { wanted: bob.password }, [bob.password, '', '']],
      ['not the same', { repeated: 'something else' }, [bob.password, '', '']],
    ])(
      'requires the current password and an acceptable new one: %s',
      async (text, fields, kept) => {
        const visitor = createPageVisitor();
        await signIn(visitor, bob);
        const page = await change(visitor, fields);
        expect([page.status, page.body]).toEqual([422, expect.stringContaining(text)]);
        const typed = page.body.matchAll(/type="password"[^>]* value="([^"]*)"/g);
        expect([...typed].map(([, value]) => value)).toEqual(kept);
        const focused = kept[0] === '' ? 'current' : 'wanted';
        expect(page.body).toMatch(new RegExp(`id="${focused}"[^>]* autofocus`));
      },
    );

    test('keeps this browser signed in under a new id, and ends all other sessions and tokens', async () => {
      const [here, elsewhere] = [createPageVisitor(), createPageVisitor()];
      const again = createPageVisitor();
      await signIn(here, bob);
      const tokens = await tokensFor({}, bob, elsewhere);
      const id = here.cookies.get('session|/');
      const reply = await change(here, {});
      expect([reply.status, reply.location]).toEqual([303, `${issuer}/account?done=password`]);
      expect(here.cookies.get('session|/')).not.toBe(id);
      // The user did not choose to stay signed in.
      expect(reply.headers.getSetCookie().join()).not.toMatch(/(^|,)session=[^,]*expires/i);
      const page = await here.get(reply.location ?? '');
      expect([page.status, page.body]).toEqual([200, expect.stringContaining('was changed')]);
      expect((await elsewhere.get(`${issuer}/account`)).status).toBe(303);
      expect(await isActive(tokens.access_token)).toBe(false);
      expect((await token(refreshing(tokens.refresh_token))).status).toBe(400);

      const form = await openSignIn(again);
      await failToSignIn(again, form, bob);
      expect((await again.submit(form, { ...bob, password: wanted })).status).toBe(303);
      expect((await open(here, authorizationUrl())).body).toContain('asks for access');
    });

    test('counts guesses in an open session together with those at the sign-in page', async () => {
      const here = createPageVisitor();
      await signIn(here);
      const form = await openSignIn(here, { prompt: 'login' });
      for (let guess = 0; guess < 5; guess += 1) {
        const current = `guess number ${guess}`;
        expect((await change(here, { current })).status).toBe(422);
        await failToSignIn(here, form, { ...alice, password: current });
      }
      const locked = await change(here, { current: alice.password });
      expect([locked.status, locked.body]).toEqual([
        422,
        expect.stringContaining('current password is wrong'),
      ]);
      await failToSignIn(here, form, alice);
      await signIn(createPageVisitor());
    });
  });
});
