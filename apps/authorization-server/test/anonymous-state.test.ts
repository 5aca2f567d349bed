// requires: redis-server redis-cli

import { createPageVisitor, listStoredKeys } from '@gatehouse/testing';
import { startOnEachEngine, startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { MAXIMUM_PARAMETER_BYTES } from '../src/throttle/stored-budgets.ts';
import { alice, authorizationUrl, basic, web } from './fixtures.ts';
import { bootstrap, openPage, startDevice, tv } from './page-fixtures.ts';

/** Chromium and Firefox limit the name and value of one cookie to this length. */
const LARGEST_COOKIE_BYTES = 4096;
/** packages/server/src/server/server-limits.ts, and nginx's buffer for the head of a reply. */
const LARGEST_HEAD_BYTES = 16 * 1024;

const systems = await startOnEachEngine({ bootstrap, apps: ['authorization-server'] });

describe.each(systems)('a browser without a signed-in user, on $engine', ({ system }) => {
  const issuer = system.authorizationServerUrl;

  /** Without the request log, which servers write some time after a failure. */
  async function names(): Promise<readonly string[]> {
    const keys = (await listStoredKeys(system.storeUrl)).map(({ key }) => key);
    return keys.filter((key) => !/^request-(log|share):/.test(key));
  }

  test('stores only the counter of its address', async () => {
    const before = await names();
    const visitor = createPageVisitor();
    const target = authorizationUrl(issuer, { login_hint: 'x'.repeat(3000) });
    for (let i = 0; i < 10; i += 1) {
      const page = await visitor.get(target);
      expect((await visitor.get(page.location ?? '')).status).toBe(200);
      await visitor.get((page.location ?? '').replace('/sign-in/', '/authorize/'));
      for (const path of ['/device', '/logout', `/logout?state=${i}`, '/account', '/']) {
        await visitor.get(issuer + path);
      }
      const form = await visitor.get(`${issuer}/device`);
      // The session cookie is signed but unknown, so the provider creates a new session.
      expect(visitor.cookies.has('session|/')).toBe(true);
      expect((await visitor.submit(form, { user_code: '' })).status).toBe(422);
    }
    const added = (await names()).filter((key) => !before.includes(key));
    const counters = added.filter((key) => /^(rate:pages|attempts:user-code):/.test(key));
    expect(added).toEqual(counters);
    expect(added.length).toBeLessThanOrEqual(4);
  });

  test('stores nothing more if it sends every cookie to every path', async () => {
    const before = await names();
    const jar = new Map<string, string>();
    const send = async (url: string, form?: Record<string, string>) => {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
      const body = form && new URLSearchParams(form);
      const init = body === undefined ? {} : { method: 'POST', body };
      const reply = await fetch(url, { ...init, redirect: 'manual', headers: { cookie } });
      for (const line of reply.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        if (value !== '') {
          jar.set(name, value);
        }
      }
      return reply;
    };

    let resumed = 0;
    let reply = await send(authorizationUrl(issuer));
    for (let i = 0; i < 5; i += 1) {
      const signIn = new URL(reply.headers.get('location') ?? '', issuer).href;
      reply = await send(signIn.replace('/sign-in/', '/authorize/'));
      resumed += reply.status === 302 ? 1 : 0;
    }
    // The provider starts another interaction for each.
    expect(resumed).toBe(5);
    for (let i = 0; i < 5; i += 1) {
      const page = await (await send(`${issuer}/device`)).text();
      const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
      const ended = await send(`${issuer}/logout/confirm`, { xsrf, logout: 'yes' });
      expect(ended.status).toBeLessThan(500);
    }
    const added = (await names()).filter((key) => !before.includes(key));
    expect(added.filter((key) => !/^(rate:pages|attempts:user-code):/.test(key))).toEqual([]);
  });

  test('gets a new session id when the user signs in to connect a device', async () => {
    const visitor = createPageVisitor();
    const device = await startDevice(issuer);
    const form = await visitor.get(device.verification_uri);
    const anonymous = visitor.cookies.get('session|/');
    const question = await visitor.submit(form, { user_code: device.user_code });
    let page = await visitor.submit(question, { confirm: 'yes' });
    page = await visitor.submit(await visitor.get(page.location ?? ''), alice);
    page = await visitor.get(page.location ?? '');
    expect(anonymous).toBeDefined();
    expect(visitor.cookies.get('session|/')).not.toBe(anonymous);
    expect(visitor.cookies.has('device-form.0|/device')).toBe(false);
  });
});

const system = await startSystem({ engine: 'sqlite', bootstrap, apps: ['authorization-server'] });
const issuer = system.authorizationServerUrl;

describe('an interaction in the cookies of the browser', () => {
  /** Returns the cookies that a browser sends to the address. */
  const cookiesFor = (visitor: ReturnType<typeof createPageVisitor>, path: string) =>
    [...visitor.cookies]
      .map(([key, value]) => [...key.split('|'), value])
      .filter(([, scope = '']) => scope === '/' || path.startsWith(scope))
      .map(([name, , value]) => `${name}=${value}`)
      .join('; ');

  test('is used once, so a copy of its cookies opens nothing after the sign-in', async () => {
    const visitor = createPageVisitor();
    const { location = '' } = await visitor.get(authorizationUrl(issuer));
    const form = await visitor.get(location);
    const { pathname } = new URL(location);
    const copy = { cookie: cookiesFor(visitor, pathname) };
    const done = await visitor.submit(form, alice);
    const consent = await visitor.get(done.location ?? '');
    expect(consent.location).toContain('/sign-in/');

    const copied = await createPageVisitor().submit(form, alice, copy);
    expect([copied.status, copied.location]).toEqual([400, undefined]);
    const resumed = await visitor.get(done.location ?? '');
    expect([resumed.status, resumed.location]).toEqual([400, undefined]);
  });

  test('is also used once if the user denied access', async () => {
    const visitor = createPageVisitor();
    await openPage(visitor, `${issuer}/account`);
    const { location = '' } = await visitor.get(authorizationUrl(issuer, { prompt: 'consent' }));
    const form = await visitor.get(location);
    const copy = { cookie: cookiesFor(visitor, new URL(location).pathname) };
    const denied = await visitor.submit(form, { decision: 'deny' });
    const landing = await visitor.get(denied.location ?? '');
    expect(landing.location).toContain('error=access_denied');

    const again = await createPageVisitor().submit(form, { decision: 'allow' }, copy);
    expect([again.status, again.location]).toEqual([400, undefined]);
  });

  test('opens only unchanged, and only as the interaction that it was sealed for', async () => {
    const [one, other] = [createPageVisitor(), createPageVisitor()];
    const { location = '' } = await one.get(authorizationUrl(issuer));
    const foreign = await other.get(authorizationUrl(issuer));
    const { pathname } = new URL(location);
    const sealed = one.cookies.get(`sign-in.0|${pathname}`) ?? '';
    const own = other.cookies.get(`sign-in.0|${new URL(foreign.location ?? '').pathname}`) ?? '';
    const statusWith = async (value: string) => {
      const cookie = cookiesFor(one, pathname).replace(sealed, value);
      return (await fetch(location, { headers: { cookie } })).status;
    };
    expect(sealed.length).toBeGreaterThan(100);
    expect(await statusWith(sealed)).toBe(200);
    expect(await statusWith(own)).toBe(400);
    expect(await statusWith(sealed.slice(0, -6))).toBe(400);
    const flipped = sealed.at(60) === 'A' ? 'B' : 'A';
    expect(await statusWith(sealed.slice(0, 60) + flipped + sealed.slice(61))).toBe(400);
    expect(await statusWith('')).toBe(400);
  });

  test('can be completed in each of many open tabs', async () => {
    const visitor = createPageVisitor();
    const tabs: string[] = [];
    for (let i = 0; i < 30; i += 1) {
      const { location } = await visitor.get(authorizationUrl(issuer, { state: `tab-${i}` }));
      tabs.push(location ?? '');
    }
    for (const tab of [0, 15, 29]) {
      const form = await visitor.get(tabs[tab] ?? '');
      const landing = await visitor.submit(form, alice);
      expect([tab, landing.status]).toEqual([tab, 303]);
      const consent = await visitor.get(landing.location ?? '');
      expect(consent.status).toBe(302);
    }
  });

  test('fits into cookies and headers with the longest parameters, and keeps them complete', async () => {
    const visitor = createPageVisitor();
    const overhead = JSON.stringify({
      client_id: web.clientId,
      login_hint: '',
      redirect_uri: web.redirectUri,
      response_type: 'code',
      scope: 'device:read openid',
      state: '',
    }).length;
    const state = 's'.repeat(1000);
    const hint = 'h'.repeat(MAXIMUM_PARAMETER_BYTES - overhead - state.length);
    const parameters = { scope: 'device:read openid', state, login_hint: hint };
    const started = await visitor.get(authorizationUrl(issuer, parameters));
    const lines = started.headers.getSetCookie();
    const sizes = lines.map((line) => line.split(';')[0]?.length ?? 0);
    expect(Math.max(...sizes)).toBeGreaterThan(3000);
    expect(Math.max(...sizes)).toBeLessThan(LARGEST_COOKIE_BYTES);
    const head = [...started.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
    expect(head.length).toBeLessThan(LARGEST_HEAD_BYTES);
    const path = new URL(started.location ?? '').pathname;
    expect(cookiesFor(visitor, path).length).toBeLessThan(LARGEST_HEAD_BYTES - 6 * 1024);

    const form = await visitor.get(started.location ?? '');
    expect(form.body).toContain(hint);
    let page = await visitor.submit(form, alice);
    expect([...visitor.cookies.keys()].filter((key) => key.startsWith('sign-in.'))).toEqual([]);
    page = await visitor.get((await visitor.get(page.location ?? '')).location ?? '');
    page = await visitor.submit(page, { decision: 'allow' });
    page = await visitor.get(page.location ?? '');
    expect(new URL(page.location ?? '').searchParams.get('state')).toBe(state);
  });

  const tooLong = /^The parameters are 14\d\d\d bytes long in total\. The limit is 4096 bytes\.$/;
  const long = 'x'.repeat(14_000);

  test('rejects longer parameters with the limit and the length', async () => {
    const visitor = createPageVisitor();
    const { location } = await visitor.get(authorizationUrl(issuer, { login_hint: long }));
    const landing = new URL(location ?? '');
    expect(landing.origin).toBe(new URL(web.redirectUri).origin);
    expect(landing.searchParams.get('error')).toBe('invalid_request');
    expect(landing.searchParams.get('error_description')).toMatch(tooLong);
    expect(visitor.cookies.size).toBe(0);
  });

  test.each([
    ['/par', { response_type: 'code', redirect_uri: web.redirectUri, login_hint: long }],
    ['/device/auth', { login_hint: long }],
  ])('rejects longer parameters at %s', async (path, parameters) => {
    const isDevice = path === '/device/auth';
    const clientId = isDevice ? tv.clientId : web.clientId;
    const headers = isDevice ? {} : { authorization: basic(web.clientId, web.secureKey) };
    const body = new URLSearchParams({ client_id: clientId, ...parameters });
    const reply = await fetch(issuer + path, { method: 'POST', headers, body });
    const failure = (await reply.json()) as Record<string, string>;
    expect([reply.status, failure.error]).toEqual([400, 'invalid_request']);
    expect(failure.error_description).toMatch(tooLong);
  });

  test('rejects longer parameters at /logout with a page', async () => {
    const visitor = createPageVisitor();
    await openPage(visitor, `${issuer}/account`);
    const page = await visitor.get(`${issuer}/logout?state=${long}`);
    expect(page.status).toBe(400);
    expect(page.body).toContain('bytes long in total. The limit is 4096 bytes.');
    const question = await visitor.get(`${issuer}/logout`);
    expect((await visitor.submit(question, { logout: 'yes' })).status).toBe(303);
  });
});
