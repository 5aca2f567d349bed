// requires: redis-server redis-cli
/** What a browser without a signed-in user costs the store, and what its cookies are worth. */

import { randomBytes } from 'node:crypto';
import { createPageVisitor, listStoredKeys } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { recordKey } from '../src/provider/oidc-adapter.ts';
import { MAXIMUM_PARAMETER_BYTES, storedRequestLimits } from '../src/throttle/stored-budgets.ts';
import { alice, bob, browserApp, tv, web } from './installation.ts';
import { asWeb, cookiesOf, type Fields, hiddenField, outcome, startOnEngines } from './server.ts';

/** Chromium and Firefox limit the name and value of one cookie to this length. */
const LARGEST_COOKIE_BYTES = 4096;
/** packages/server/src/server/server-limits.ts, and nginx's buffer for the head of a reply. */
const LARGEST_HEAD_BYTES = 16 * 1024;

const systems = await startOnEngines({ environment: { TRUSTED_PROXIES: '127.0.0.0/8, ::1' } });

describe.each(systems)('on $engine', ({ system: { first, storeUrl } }) => {
  const { authorizationUrl, connectDevice, get, issuer, open, openConsent, openSignIn, post } =
    first;

  /** Names without the request log and the figures, which servers write from time to time. */
  async function names(): Promise<readonly string[]> {
    const keys = (await listStoredKeys(storeUrl)).map(({ key }) => key);
    return keys.filter((key) => !/^(request-log|time-series:)/.test(key));
  }
  async function expectOnlyCounters(before: readonly string[]) {
    const added = (await names()).filter((key) => !before.includes(key));
    expect(added.filter((key) => !/^(rate:pages|attempts:user-code):/.test(key))).toEqual([]);
    expect(added.length).toBeLessThanOrEqual(4);
  }

  describe('a browser without a signed-in user', () => {
    test('stores only the counter of its address', async () => {
      const before = await names();
      const visitor = createPageVisitor();
      const target = authorizationUrl({ login_hint: 'x'.repeat(3000) });
      for (let i = 0; i < 10; i += 1) {
        const { location = '' } = await visitor.get(target);
        expect((await visitor.get(location)).status).toBe(200);
        await visitor.get(location.replace('/sign-in/', '/authorize/'));
        for (const path of ['/device', '/logout', `/logout?state=${i}`, '/account', '/']) {
          await visitor.get(issuer + path);
        }
        const form = await visitor.get(`${issuer}/device`);
        // The session cookie is signed but unknown, so the provider creates a new session.
        expect(visitor.cookies.has('session|/')).toBe(true);
        expect((await visitor.submit(form, { user_code: '' })).status).toBe(422);
      }
      await expectOnlyCounters(before);
    });

    test('stores nothing more if it sends every cookie to every path', async () => {
      const before = await names();
      const jar = new Map<string, string>();
      const keep = ({ headers }: { readonly headers: Headers }) => {
        for (const line of headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
          if (value !== '') {
            jar.set(name, value);
          }
        }
      };
      const cookie = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
      const visit = async (url: string) => {
        const page = await get(url, { cookie: cookie() });
        keep(page);
        return page;
      };
      let page = await visit(authorizationUrl());
      for (let i = 0; i < 5; i += 1) {
        page = await visit(page.location?.replace('/sign-in/', '/authorize/') ?? '');
        // The provider starts another interaction for each.
        expect(page.status).toBe(302);
      }
      for (let i = 0; i < 5; i += 1) {
        const xsrf = hiddenField(await visit('/device'), 'xsrf');
        const ended = await post('/logout/confirm', { xsrf, logout: 'yes' }, { cookie: cookie() });
        keep(ended);
        expect(ended.status).toBeLessThan(500);
      }
      await expectOnlyCounters(before);
    });

    test('gets a new session id when the user signs in to connect a device', async () => {
      const visitor = createPageVisitor();
      const device = await first.startDevice();
      await visitor.get(device.verification_uri ?? '');
      const anonymous = visitor.cookies.get('session|/');
      await connectDevice(device, { visitor });
      expect(anonymous).toBeDefined();
      expect(visitor.cookies.get('session|/')).not.toBe(anonymous);
      expect(visitor.cookies.has('device-form.0|/device')).toBe(false);
    });
  });

  describe('an interaction in the cookies of the browser', () => {
    test.each([
      ['a sign-in', openSignIn, alice],
      ['a denial', openConsent, { decision: 'deny' }],
    ] as const)(
      'is used once, so a copy of its cookies opens nothing after %s',
      async (_what, openForm, fields) => {
        const visitor = createPageVisitor();
        await open(visitor, '/account');
        const form = await openForm(visitor, { prompt: 'login' });
        const copy = { cookie: cookiesOf(visitor, new URL(form.url).pathname) };
        const done = await visitor.submit(form, fields);
        await visitor.get(done.location ?? '');
        for (const again of [
          await createPageVisitor().submit(form, fields, copy),
          await visitor.get(done.location ?? ''),
        ]) {
          expect([again.status, again.location]).toEqual([400, undefined]);
        }
      },
    );

    test('opens only unchanged, and only as the interaction that it was sealed for', async () => {
      const [one, other] = [createPageVisitor(), createPageVisitor()];
      const { pathname } = new URL((await openSignIn(one)).url);
      const foreign = new URL((await openSignIn(other)).url).pathname;
      const sealed = one.cookies.get(`sign-in.0|${pathname}`) ?? '';
      const statusWith = async (value: string) => {
        const cookie = cookiesOf(one, pathname).replace(sealed, value);
        return (await get(pathname, { cookie })).status;
      };
      expect(sealed.length).toBeGreaterThan(100);
      expect(await statusWith(sealed)).toBe(200);
      const flipped = sealed.at(60) === 'A' ? 'B' : 'A';
      for (const value of [
        other.cookies.get(`sign-in.0|${foreign}`) ?? '',
        sealed.slice(0, -6),
        sealed.slice(0, 60) + flipped + sealed.slice(61),
        '',
      ]) {
        expect(await statusWith(value)).toBe(400);
      }
    });

    test('can be completed in each of many open tabs', async () => {
      const visitor = createPageVisitor();
      const tabs: string[] = [];
      for (let i = 0; i < 30; i += 1) {
        const { location } = await visitor.get(authorizationUrl({ state: `tab-${i}` }));
        tabs.push(location ?? '');
      }
      for (const tab of [0, 15, 29]) {
        const form = await visitor.get(tabs[tab] ?? '');
        const landing = await visitor.submit(form, alice);
        expect([tab, landing.status]).toEqual([tab, 303]);
        expect((await visitor.get(landing.location ?? '')).status).toBe(302);
      }
    });

    test('fits into cookies and headers with the longest parameters, and keeps them complete', async () => {
      const visitor = createPageVisitor();
      const overhead = JSON.stringify({
        ...{ client_id: web.clientId, login_hint: '', redirect_uri: web.redirectUri },
        ...{ response_type: 'code', scope: 'device:read openid', state: '' },
      }).length;
      const state = 's'.repeat(1000);
      const hint = 'h'.repeat(MAXIMUM_PARAMETER_BYTES - overhead - state.length);
      const parameters = { scope: 'device:read openid', state, login_hint: hint };
      const started = await visitor.get(authorizationUrl(parameters));
      const lines = started.headers.getSetCookie();
      const largest = Math.max(...lines.map((line) => line.split(';')[0]?.length ?? 0));
      expect(largest).toBeGreaterThan(3000);
      expect(largest).toBeLessThan(LARGEST_COOKIE_BYTES);
      const head = [...started.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
      expect(head.length).toBeLessThan(LARGEST_HEAD_BYTES);
      const path = new URL(started.location ?? '').pathname;
      expect(cookiesOf(visitor, path).length).toBeLessThan(LARGEST_HEAD_BYTES - 6 * 1024);

      const form = await visitor.get(started.location ?? '');
      expect(form.body).toContain(hint);
      let page = await visitor.submit(form, alice);
      expect([...visitor.cookies.keys()].filter((key) => key.startsWith('sign-in.'))).toEqual([]);
      page = await visitor.get((await visitor.get(page.location ?? '')).location ?? '');
      page = await visitor.submit(page, { decision: 'allow' });
      page = await visitor.get(page.location ?? '');
      expect(new URL(page.location ?? '').searchParams.get('state')).toBe(state);
    });

    const long = 'x'.repeat(14_000);
    const tooLong = /^The parameters are 14\d\d\d bytes long in total\. The limit is 4096 bytes\.$/;

    test('rejects longer parameters with the limit and the length', async () => {
      const visitor = createPageVisitor();
      const { location } = await visitor.get(authorizationUrl({ login_hint: long }));
      const landing = new URL(location ?? '');
      expect(landing.origin).toBe(new URL(web.redirectUri).origin);
      expect(landing.searchParams.get('error')).toBe('invalid_request');
      expect(landing.searchParams.get('error_description')).toMatch(tooLong);
      expect(visitor.cookies.size).toBe(0);

      await open(visitor, '/account');
      const page = await visitor.get(`${issuer}/logout?state=${long}`);
      expect([page.status, page.body]).toEqual([
        400,
        expect.stringContaining('bytes long in total. The limit is 4096 bytes.'),
      ]);
      const question = await visitor.get(`${issuer}/logout`);
      expect((await visitor.submit(question, { logout: 'yes' })).status).toBe(303);
    });

    test.each<[string, Fields, Fields]>([
      ['/par', { client_id: web.clientId, redirect_uri: web.redirectUri }, asWeb],
      ['/device/auth', { client_id: tv.clientId }, {}],
    ])('rejects longer parameters at %s', async (path, fields, headers) => {
      const request = { ...fields, response_type: 'code', login_hint: long };
      const { status, body } = await post(path, request, headers);
      expect([status, body.error]).toEqual([400, 'invalid_request']);
      expect(body.error_description).toMatch(tooLong);
    });
  });
});

const marker = () => `marker-${randomBytes(8).toString('hex')}`;
const base64url = (text: string) => Buffer.from(text).toString('base64url');

describe.each(systems)('records between two requests of a browser, on $engine', ({ system }) => {
  const { authorizationUrl, get, issuer, open, post } = system.first;
  const found = async (...texts: readonly string[]) => {
    const stored = await system.storedText();
    return texts.filter((text) => stored.includes(text));
  };

  test('contain no readable request of an interaction, in the store or in its cookie', async () => {
    const visitor = createPageVisitor();
    const [state, nonce, hint] = [marker(), marker(), marker()];
    const request = { scope: 'openid', state, nonce, login_hint: hint };
    const redirect = await visitor.get(authorizationUrl(request));
    // The record of the client contains the address, so the search finds readable text.
    expect(await found(state, nonce, hint, web.redirectUri)).toEqual([web.redirectUri]);
    const cookies = [...visitor.cookies.values()].flatMap((value) => [
      value,
      Buffer.from(value, 'base64url').toString('latin1'),
    ]);
    expect([state, nonce, hint].filter((text) => cookies.join('\n').includes(text))).toEqual([]);
    expect((await visitor.get(redirect.location ?? '')).body).toContain(hint);
  });

  test('contain neither a readable pushed request nor its request_uri', async () => {
    const [state, nonce] = [marker(), marker()];
    const { redirectUri: redirect_uri, clientId: client_id } = web;
    const request = { response_type: 'code', client_id, redirect_uri, state, nonce };
    const { request_uri } = (await post('/par', request, asWeb)).body;
    // The library stores the request as an unsigned token, which is the base64url form of its JSON.
    const encoded = [state, nonce].flatMap((text) =>
      [text, ` ${text}`, `  ${text}`].map((shifted) => base64url(shifted).slice(4, 24)),
    );
    expect(await found(state, nonce, request_uri.split(':').at(-1), ...encoded)).toEqual([]);
    const query = new URLSearchParams({ client_id, request_uri });
    expect((await get(`/authorize?${query}`)).location).toContain('/sign-in/');
  });

  test('contain no readable session id or form token, and a session ends after 14 days', async () => {
    const visitor = createPageVisitor();
    const staying = { ...alice, remember: 'yes' };
    await open(visitor, '/account', staying);
    const question = await visitor.get(`${issuer}/logout`);
    const secrets = [hiddenField(question, 'xsrf'), visitor.cookies.get('session|/') ?? ''];
    expect(secrets.map((text) => text.length > 20)).toEqual([true, true]);
    expect(await found(...secrets)).toEqual([]);
    const { credentialHash, sealer } = system.identity;
    const key = recordKey('Session', secrets[1] ?? '', credentialHash);
    const { exp } = JSON.parse(sealer.open((await system.store.get(key)) ?? '', key));
    expect(Math.round((exp - Date.now() / 1000) / 3600)).toBe(14 * 24);
    expect((await visitor.submit(question, { logout: 'yes' })).status).toBe(303);
  });

  test('do not sign an attacker in who copies one to the key of their own session', async () => {
    const [theirs, mine] = [createPageVisitor(), createPageVisitor()];
    await open(theirs, '/account', alice);
    await open(mine, '/account', bob);
    const [from = '', to = ''] = [theirs, mine].map(({ cookies }) =>
      recordKey('Session', cookies.get('session|/') ?? '', system.identity.credentialHash),
    );
    await system.store.set(to, (await system.store.get(from)) ?? '');
    const page = await mine.get(`${issuer}/account`);
    // The account page asks to sign in.
    expect([page.status, page.body.includes('Alice Example')]).toEqual([303, false]);
    expect((await theirs.get(`${issuer}/account`)).body).toContain('Alice Example');
  });
});

const { pushed } = storedRequestLimits;
const ofClient = `client:${browserApp.clientId}`;
const ofWeb = `client:${web.clientId}`;
const keyOf = (party: string) => `stored-bytes:pushed:${party}`;

describe.each(systems)(
  'a request of an anonymous caller in the store, on $engine',
  ({ system }) => {
    const { store, first } = system;
    const parties = ['address:192.0.2.1', 'address:192.0.2.2', ofClient, 'public', ofWeb];
    afterEach(() => store.delete(parties.map(keyOf)));

    const push = (address: string) =>
      first.post(
        '/par',
        {
          ...{ response_type: 'code', scope: 'device:read', client_id: browserApp.clientId },
          ...{ redirect_uri: browserApp.redirectUri, code_challenge: 'c'.repeat(43) },
          code_challenge_method: 'S256',
        },
        { 'x-forwarded-for': address },
      );
    const pushAsWeb = async () => {
      const fields = { response_type: 'code', client_id: 'web', redirect_uri: web.redirectUri };
      return (await first.post('/par', fields, { ...asWeb, 'x-forwarded-for': '192.0.2.1' }))
        .status;
    };
    const spend = (party: string, bytes: number) =>
      store.increment(keyOf(party), pushed.windowSeconds, bytes);
    const spent = async (party: string) => (await store.increment(keyOf(party), 60, 0)).count;

    test('is charged to the address, the client and all public clients', async () => {
      expect((await push('192.0.2.1')).status).toBe(201);
      const charged = await spent('address:192.0.2.1');
      expect(charged).toBeGreaterThan(1024);
      expect([await spent(ofClient), await spent('public')]).toEqual([charged, charged]);
    });

    test.each([
      ['address:192.0.2.1', pushed.addressBytes],
      [ofClient, pushed.clientBytes],
      ['public', pushed.publicBytes],
    ])('is rejected if the budget %s is used up', async (party, bytes) => {
      await spend(party, bytes);
      const reply = await push('192.0.2.1');
      expect(outcome(reply)).toEqual([429, 'too_many_requests']);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(reply.body.error_description).toBe(
        'Too much is stored for this address, this client, or all public clients. Try again later.',
      );
      // A client that authenticates has its own budget.
      expect(await pushAsWeb()).toBe(201);
    });

    test('is not charged to other budgets if the address is over its budget', async () => {
      await spend('address:192.0.2.1', pushed.addressBytes);
      for (let i = 0; i < 3; i += 1) {
        expect((await push('192.0.2.1')).status).toBe(429);
      }
      expect([await spent(ofClient), await spent('public')]).toEqual([0, 0]);
      expect((await push('192.0.2.2')).status).toBe(201);
    });

    test('is rejected for an authenticated client if its own budget is used up', async () => {
      await spend(ofWeb, pushed.clientBytes);
      expect(await pushAsWeb()).toBe(429);
    });
  },
);
