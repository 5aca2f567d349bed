// requires: redis-server redis-cli
/** What a browser without a signed-in user costs the store, and what its cookies are worth. */
import { createPageVisitor, listStoredKeys } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { MAXIMUM_PARAMETER_BYTES } from '../src/throttle/stored-budgets.ts';
import { alice, tv, web } from './installation.ts';
import { asWeb, cookiesOf, type Fields, hiddenField, startOnEngines } from './server.ts';

/** Chromium and Firefox limit the name and value of one cookie to this length. */
const LARGEST_COOKIE_BYTES = 4096;
/** packages/server/src/server/server-limits.ts, and nginx's buffer for the head of a reply. */
const LARGEST_HEAD_BYTES = 16 * 1024;

const systems = await startOnEngines();

describe.each(systems)('on $engine', ({ system: { first, storeUrl } }) => {
  const { authorizationUrl, connectDevice, get, issuer, open, openConsent, openSignIn, post } =
    first;

  /** Names without the request log, which servers write some time after a failure. */
  async function names(): Promise<readonly string[]> {
    const keys = (await listStoredKeys(storeUrl)).map(({ key }) => key);
    return keys.filter((key) => !key.startsWith('request-log'));
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
