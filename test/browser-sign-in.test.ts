// requires: redis-server
/** Users sign in to an application behind another proxy, which asks the gateway at `/_verify`. */
import { createHmac } from 'node:crypto';
import { TWO_FACTORS } from '@gatehouse/identity';
import {
  codeOfApp,
  createPageVisitor,
  type PageVisitor,
  secretOfPage,
  signInAt,
  until,
} from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import {
  alice,
  bob,
  carol,
  installation,
  olga,
} from '../apps/authorization-server/test/installation.ts';
import {
  type Fields,
  startOnEngines,
  type User,
  withForm,
} from '../apps/authorization-server/test/server.ts';
import { send } from '../apps/gateway/test/http-client.ts';

const HOST = 'reports.example';
const ORIGIN = `https://${HOST}`;
const PAGE = '/reports/7?a=1&b=x%20y';
const MCP = 'https://tools.example/mcp';
const CALLBACK = '/_gatehouse/callback';

const bootstrap = {
  ...installation,
  resources: [
    {
      resource: MCP,
      name: 'Tools',
      scopes: {
        'tools:call': { description: 'Call tools' },
        'tools:admin': { description: 'Change tools', roles: ['accountant'] },
      },
    },
  ],
  roles: ['support'],
  secondFactor: { clients: { 'gatehouse:browser:wiki.example': 'optional' } },
  browserHosts: [
    { host: HOST, name: 'Reports' },
    { host: 'wiki.example', name: 'Wiki' },
    { host: 'org.example', name: 'Of another organization', orgId: 'org-2' },
    { host: 'closed.example', name: 'Closed', enabled: false },
    { host: 'localhost:8081', name: 'Local' },
  ],
  users: installation.users.map((user) =>
    user.username === bob.username
      ? {
          ...user,
          roles: ['accountant', 'a,b', 'für'],
          email: 'bob@b.example',
          emailVerified: true,
        }
      : user,
  ),
};

const systems = await startOnEngines({
  apps: ['authorization-server', 'gateway'],
  bootstrap,
  environment: { FORWARD_AUTH: 'true', TRUSTED_PROXIES: '127.0.0.1,::1' },
});

const navigation = {
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Dest': 'document',
  Accept: 'text/html',
};
const script = {
  'Sec-Fetch-Mode': 'cors',
  'Sec-Fetch-Dest': 'empty',
  'Sec-Fetch-Site': 'same-origin',
};

/** A browser at an application: its cookies there, and what it does at the authorization server. */
interface Browser {
  readonly cookies: Map<string, string>;
  readonly visitor: PageVisitor;
}

const newBrowser = (): Browser => ({ cookies: new Map(), visitor: createPageVisitor() });

describe.each(systems)('on $engine', ({ system }) => {
  const { first, gatewayUrl, identity } = system;
  const port = Number(new URL(gatewayUrl).port);

  /** Asks as the proxy of the host does, and keeps the cookie of the answer. */
  async function ask(
    uri: string,
    browser: Browser = newBrowser(),
    {
      host = HOST,
      method = 'GET',
      query = '',
      headers = navigation as Fields,
    }: { host?: string; method?: string; query?: string; headers?: Fields } = {},
  ) {
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const path = `/_verify?browser=${host}&audience=reports${query}`;
    const {
      status,
      headers: received,
      json,
    } = await send(port, path, {
      headers: {
        ...{ 'X-Original-Method': method, 'X-Original-URI': uri },
        ...(cookie && { cookie }),
        ...headers,
      },
    });
    const [set, ...more] = received['set-cookie'] ?? [];
    expect([more, received['cache-control']]).toEqual([[], 'no-store']);
    const [pair = '', ...attributes] = set?.split('; ') ?? [];
    if (pair !== '') {
      browser.cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const { code, message } = json ?? {};
    const { location = '' } = received;
    return { status, headers: received as Fields, location, attributes, code, message };
  }

  /** Follows the redirect to the authorization server, and signs in there if it asks. */
  async function land(browser: Browser, uri = PAGE, user: User = alice, host = HOST): Promise<URL> {
    const { status, location } = await ask(uri, browser, { host });
    expect(status).toBe(302);
    const page = await signInAt(
      await browser.visitor.get(location),
      user,
      browser.visitor,
      (seen) => seen.location?.startsWith(`https://${host}/`) === true,
    );
    return new URL(page.location ?? '');
  }

  const pathOf = ({ pathname, search }: URL) => pathname + search;

  async function signIn(user: User = alice, host = HOST, browser = newBrowser()): Promise<Browser> {
    const landing = await land(browser, PAGE, user, host);
    expect((await ask(pathOf(landing), browser, { host })).location).toBe(`https://${host}${PAGE}`);
    return browser;
  }

  const statusOf = async (browser: Browser, ...how: [Parameters<typeof ask>[2]?]) =>
    (await ask(PAGE, browser, ...how)).status;

  /** Asks as a script until the session is over. */
  const expectEnd = (browser: Browser, host = HOST) =>
    until(async () => (await statusOf(browser, { host, headers: script })) === 401);

  test('a browser signs in, and the service learns who the user is', async () => {
    const browser = newBrowser();
    browser.cookies.set('theme', 'dark');
    const start = await ask(PAGE, browser);
    expect(start.status).toBe(302);
    expect(start.attributes).toEqual([
      ...['Path=/', 'HttpOnly', 'SameSite=Lax', 'Secure', 'Max-Age=3600'],
    ]);
    const query = new URL(start.location).searchParams;
    expect(Object.fromEntries(query)).toMatchObject({
      client_id: `gatehouse:browser:${HOST}`,
      redirect_uri: ORIGIN + CALLBACK,
      code_challenge_method: 'S256',
    });
    // The state hides the address of the page, which can be confidential.
    expect(start.location).not.toContain('reports/7');

    const landing = await land(browser, PAGE, bob);
    const end = await ask(pathOf(landing), browser);
    expect([end.status, end.location]).toEqual([302, ORIGIN + PAGE]);
    expect(end.attributes).toEqual(['Path=/', 'HttpOnly', 'SameSite=Lax', 'Secure']);
    expect([...browser.cookies.keys()]).toEqual([
      ...['theme', '__Host-gatehouse-sign-in', '__Host-gatehouse'],
    ]);

    const { status, headers } = await ask(PAGE, browser);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'x-auth-client-id': `gatehouse:browser:${HOST}`,
      'x-auth-user': bob.username,
      'x-auth-email': 'bob@b.example',
      'x-auth-roles': 'accountant,a%2Cb,f%C3%BCr',
      'x-auth-scope': '',
      // Without the cookies of the gateway.
      cookie: 'theme=dark',
    });
    const token = headers.authorization?.slice('Bearer '.length) ?? '';
    expect(decodeJwt(token)).toMatchObject({
      aud: 'reports',
      sub: headers['x-auth-subject'],
      preferred_username: bob.username,
      email_verified: true,
      roles: ['accountant', 'a,b', 'für'],
      amr: ['pwd'],
    });
  });

  test('an unverified email is not in the header, and no cookie of the gateway reaches the service', async () => {
    const { headers } = await ask(PAGE, await signIn());
    expect(headers['x-auth-user']).toBe(alice.username);
    expect([headers['x-auth-email'], headers.cookie]).toEqual(['', 'gatehouse=removed']);
  });

  test('a second application needs no second sign-in, and the account page lists both', async () => {
    const browser = await signIn();
    const wiki: Browser = { ...newBrowser(), visitor: browser.visitor };
    const { location } = await ask('/', wiki, { host: 'wiki.example' });
    let page = await browser.visitor.get(location);
    for (let step = 0; step < 3 && !page.location?.includes('wiki.example'); step += 1) {
      expect(page.body).not.toContain('password');
      page = await browser.visitor.get(page.location ?? '');
    }
    const callback = pathOf(new URL(page.location ?? ''));
    expect((await ask(callback, wiki, { host: 'wiki.example' })).location).toBe(
      'https://wiki.example/',
    );
    const account = await browser.visitor.get(`${first.issuer}/account`);
    expect(account.body).toContain('Reports');
    expect(account.body).toContain('Wiki');

    // Revoking one ends it alone.
    const form = withForm(account, '/account/revoke', `gatehouse:browser:${HOST}`);
    expect((await browser.visitor.submit(form, {})).status).toBe(303);
    await expectEnd(browser);
    expect(await statusOf(wiki, { host: 'wiki.example' })).toBe(200);
  });

  describe('a session ends', () => {
    test('when the user signs out at the authorization server', async () => {
      const browser = await signIn();
      const wiki = await signIn(alice, 'wiki.example', {
        ...newBrowser(),
        visitor: browser.visitor,
      });
      const question = await browser.visitor.get(`${first.issuer}/logout`);
      expect(question.body).toContain('Reports');
      await browser.visitor.submit(question, { logout: 'yes' });
      await expectEnd(browser);
      await expectEnd(wiki, 'wiki.example');
    });

    test('when the user signs out at the application, which leads to the other sign-out', async () => {
      const browser = await signIn();
      const headers = { ...navigation, 'Sec-Fetch-Site': 'same-origin' };
      const { status, location } = await ask('/_gatehouse/sign-out', browser, { headers });
      expect(status).toBe(302);
      await expectEnd(browser);
      const question = await browser.visitor.get(location);
      const reply = await browser.visitor.submit(question, { logout: 'yes' });
      expect(reply.location).toBe(`${ORIGIN}/`);
      expect((await browser.visitor.get((await ask('/', browser)).location)).location).toContain(
        '/sign-in/',
      );
    });

    test('CWE-352 but not when another site opens the address of the sign-out, or a script does', async () => {
      const browser = await signIn();
      for (const headers of [{ ...navigation, 'Sec-Fetch-Site': 'cross-site' }, script]) {
        expect((await ask('/_gatehouse/sign-out', browser, { headers })).status).toBe(302);
      }
      expect(await statusOf(browser)).toBe(200);
    });

    test('when an operator revokes the user, or the cookie, or closes the host', async () => {
      const revoked = await signIn(carol);
      const { userId = '' } = (await identity.users.findByUsername(carol.username)) ?? {};
      await identity.revocations.user(userId);
      await expectEnd(revoked);

      const stolen = await signIn();
      await identity.revocations.token(stolen.cookies.get('__Host-gatehouse') ?? '');
      await expectEnd(stolen);

      const wiki = await signIn(alice, 'wiki.example');
      const closed = { host: 'wiki.example', name: 'Wiki', enabled: false };
      await identity.settings.apply({ browserHosts: [closed] });
      await expectEnd(wiki, 'wiki.example');
      await identity.settings.apply({ browserHosts: [{ ...closed, enabled: true }] });
    });
  });

  describe('a request without a session', () => {
    test.each([
      ['of a script', 'GET', script],
      ['of an old browser for data', 'GET', { Accept: 'application/json' }],
      ['of a frame', 'GET', { ...navigation, 'Sec-Fetch-Dest': 'iframe' }],
      ['that opens a WebSocket', 'GET', { Upgrade: 'websocket', Accept: 'text/html' }],
      [
        'for a WebSocket, without Upgrade',
        'GET',
        { 'Sec-WebSocket-Key': 'x', Accept: 'text/html' },
      ],
      ['that a browser sends in advance', 'GET', { ...navigation, 'Sec-Purpose': 'prefetch' }],
      ['with a form', 'POST', navigation],
      ['that is a preflight', 'OPTIONS', script],
    ])('%s gets 401 and no redirect', async (_name, method, headers) => {
      const reply = await ask(PAGE, newBrowser(), { method, headers: headers as Fields });
      expect([reply.status, reply.code, reply.location]).toEqual([401, 'unauthorized', '']);
      expect(reply.attributes).toEqual([]);
      expect(reply.headers['www-authenticate']).toContain('resource_metadata=');
    });

    test('of an old browser for a page is redirected', async () => {
      expect(await statusOf(newBrowser(), { headers: { Accept: 'text/html,*/*' } })).toBe(302);
    });
  });

  describe('CWE-352 a signed-in browser', () => {
    test.each([
      ['a form of another site', 'POST', { 'Sec-Fetch-Site': 'cross-site' }],
      ['a form of a sibling host', 'POST', { 'Sec-Fetch-Site': 'same-site' }],
      ['a form in an old browser', 'DELETE', { Origin: 'https://evil.example' }],
      ['a form without an origin', 'POST', {}],
      ['a WebSocket of another site', 'GET', { Upgrade: 'websocket', Origin: 'https://e.example' }],
      ['a WebSocket, as some proxies ask', 'GET', { 'Sec-WebSocket-Key': 'x', Origin: 'null' }],
    ])('does not send %s', async (_name, method, headers) => {
      const reply = await ask(PAGE, await signIn(), { method, headers: headers as Fields });
      expect([reply.status, reply.code]).toEqual([403, 'access_denied']);
    });

    test.each([
      ['a form', 'POST', { 'Sec-Fetch-Site': 'same-origin' }],
      ['a form in an old browser', 'POST', { Origin: ORIGIN }],
      ['a WebSocket', 'GET', { Upgrade: 'websocket', Origin: ORIGIN }],
      ['a link on another site', 'GET', { ...navigation, 'Sec-Fetch-Site': 'cross-site' }],
    ])('sends %s of the application', async (_name, method, headers) => {
      expect(await statusOf(await signIn(), { method, headers: headers as Fields })).toBe(200);
    });
  });

  describe('the callback', () => {
    const expectInvalid = (reply: Awaited<ReturnType<typeof ask>>, browser: Browser) => {
      expect([reply.status, reply.code, reply.location]).toEqual([400, 'illegal_argument', '']);
      expect(browser.cookies.has('__Host-gatehouse')).toBe(false);
    };

    test('CWE-384 accepts no sign-in of another browser', async () => {
      const attacker = newBrowser();
      const callback = pathOf(await land(attacker));
      const stranger = newBrowser();
      expectInvalid(await ask(callback, stranger), stranger);
      const victim = newBrowser();
      await ask(PAGE, victim);
      expectInvalid(await ask(callback, victim), victim);
      // It was not used up, because nobody else may redeem it.
      expect((await ask(callback, attacker)).location).toBe(ORIGIN + PAGE);
    });

    test('redeems a code once, also if it is requested at the same time', async () => {
      const browser = newBrowser();
      const callback = pathOf(await land(browser));
      const replies = await Promise.all(Array.from({ length: 5 }, () => ask(callback, browser)));
      expect(replies.map(({ status }) => status).sort()).toEqual([302, 400, 400, 400, 400]);
    });

    test('accepts no code of another sign-in, another host or another client', async () => {
      const victim = newBrowser();
      const stolen = (await land(victim)).searchParams.get('code') ?? '';
      const browser = newBrowser();
      const landing = await land(browser);
      const own = landing.searchParams.get('code') ?? '';
      landing.searchParams.set('code', stolen);
      expectInvalid(await ask(pathOf(landing), browser), browser);
      landing.searchParams.set('code', await first.newCode());
      expectInvalid(await ask(pathOf(landing), browser), browser);
      landing.searchParams.set('code', own);
      expectInvalid(await ask(pathOf(landing), browser, { host: 'wiki.example' }), browser);
      expect((await ask(pathOf(landing), browser)).status).toBe(302);
    });

    test('ends a sign-in that the authorization server rejected', async () => {
      const browser = newBrowser();
      const landing = await land(browser);
      landing.searchParams.delete('code');
      landing.searchParams.set('error', 'access_denied');
      const reply = await ask(pathOf(landing), browser);
      expectInvalid(reply, browser);
      expect(reply.message).toContain('access_denied');
    });

    test.each(['POST', 'HEAD'])('is not requested with %s', async (method) => {
      expect((await ask(CALLBACK, newBrowser(), { method })).status).toBe(405);
    });

    test('has no neighbors', async () => {
      expect((await ask('/_gatehouse/other', await signIn())).status).toBe(404);
    });
  });

  test('CWE-601 the browser returns only to the host, whatever address it requested', async () => {
    for (const uri of ['/?next=//evil.example', '/@evil.example/', `/${'a'.repeat(1100)}`]) {
      const browser = newBrowser();
      const { location } = await ask(pathOf(await land(browser, uri)), browser);
      expect(location).toBe(ORIGIN + (uri.length > 1024 ? '/' : uri));
    }
    for (const uri of ['//evil.example', '/\\evil.example', 'https://evil.example/']) {
      expect((await ask(uri)).status).toBe(400);
    }
    const { location } = await ask(PAGE);
    const elsewhere = new URL(location);
    elsewhere.searchParams.set('redirect_uri', `https://evil.example${CALLBACK}`);
    expect((await first.get(elsewhere.href)).status).toBe(400);
  });

  test('tabs that sign in at the same time all succeed', async () => {
    const browser = newBrowser();
    const landings = [await land(browser, '/one'), await land(browser, '/two')];
    for (const [i, page] of ['/one', '/two'].entries()) {
      const reply = await ask(pathOf(landings[i] as URL), browser);
      expect(reply.location).toBe(ORIGIN + page);
    }
  });

  describe('the cookie', () => {
    test('is no access token, and of no use at another host', async () => {
      const { cookies } = await signIn();
      const token = cookies.get('__Host-gatehouse') ?? '';
      for (const headers of [
        { Authorization: `Bearer ${token}` },
        { 'X-Access-Token': token },
        { Cookie: `__Host-gatehouse=${token}` },
      ] as Fields[]) {
        expect((await fetch(`${gatewayUrl}/api/device`, { headers })).status).toBe(401);
      }
      expect(await first.isActive(token)).toBe(false);
      expect((await first.userinfo(token)).status).toBe(401);
      const elsewhere = { ...newBrowser(), cookies };
      expect(await statusOf(elsewhere, { host: 'wiki.example', headers: script })).toBe(401);
    });

    test.each([
      ['twice', '__Host-gatehouse=TOKEN; __Host-gatehouse=x'],
      ['after a no-break space', '\u00a0__Host-gatehouse=TOKEN'],
      ['without the prefix', 'gatehouse=TOKEN'],
    ])(
      'is ignored if it was sent %s, because a sibling host may have set it',
      async (_how, sent) => {
        const { cookies } = await signIn();
        const Cookie = sent.replace('TOKEN', cookies.get('__Host-gatehouse') ?? '');
        expect(await statusOf(newBrowser(), { headers: { ...script, Cookie } })).toBe(401);
      },
    );

    test('has no prefix and needs no TLS at a loopback host', async () => {
      const browser = newBrowser();
      const { location, attributes } = await ask(PAGE, browser, { host: 'localhost:8081' });
      expect([...browser.cookies.keys()]).toEqual(['gatehouse-sign-in']);
      expect(attributes).not.toContain('Secure');
      expect(new URL(location).searchParams.get('redirect_uri')).toBe(
        `http://localhost:8081${CALLBACK}`,
      );
    });

    test('is not in the store or in a log, nor is the code', async () => {
      const browser = newBrowser();
      const landing = await land(browser);
      await ask(pathOf(landing), browser);
      const secrets = [landing.searchParams.get('code') ?? '', ...browser.cookies.values()];
      const texts = [await system.storedText(), await system.output()];
      expect(secrets.filter((secret) => texts.some((text) => text.includes(secret)))).toEqual([]);
    });

    test('does not replace a credential of the request', async () => {
      const headers = { ...script, Authorization: 'Bearer wrong' };
      expect((await ask(PAGE, await signIn(), { headers })).status).toBe(401);
    });
  });

  test('the code gives no token for an API at the token endpoint, and no second session', async () => {
    const browser = newBrowser();
    const landing = await land(browser);
    const { code = '', state = '' } = Object.fromEntries(landing.searchParams);
    const secret = browser.cookies.get('__Host-gatehouse-sign-in') ?? '';
    const verifier = createHmac('sha256', secret).update(state).digest('base64url');
    const own = {
      client_id: `gatehouse:browser:${HOST}`,
      redirect_uri: ORIGIN + CALLBACK,
      code_verifier: verifier,
    };
    const { status, body } = await first.redeem(code, own, {});
    expect(status).toBe(200);
    const headers = { Authorization: `Bearer ${body.access_token}` };
    expect((await fetch(`${gatewayUrl}/api/device`, { headers })).status).toBe(401);
    expect((await ask(PAGE, browser, { headers, query: '&scope=device:read' })).status).toBe(401);
    expect((await ask(pathOf(landing), browser)).status).toBe(400);
  });

  describe('the requirements of the proxy', () => {
    test('scopes and roles', async () => {
      const [ofAlice, ofBob] = [await signIn(alice), await signIn(bob)];
      const both = async (query: string) =>
        Promise.all([ofAlice, ofBob].map(async (browser) => statusOf(browser, { query })));
      expect(await both('&scope=tools:call')).toEqual([200, 200]);
      expect(await both('&scope=tools:admin')).toEqual([403, 200]);
      expect(await both('&role=accountant')).toEqual([403, 200]);
      const { headers } = await ask(PAGE, ofBob, { query: '&scope=tools:admin' });
      expect(headers['x-auth-scope']).toBe('tools:admin');
    });

    test('an organization', async () => {
      const { location } = await ask(PAGE, newBrowser(), { host: 'org.example' });
      const { visitor } = newBrowser();
      const form = await visitor.get((await visitor.get(location)).location ?? '');
      expect((await visitor.submit(form, alice)).location).toContain('/sign-in/');
      expect(await statusOf(await signIn(olga, 'org.example'), { host: 'org.example' })).toBe(200);
    });

    test('a declared host that is enabled', async () => {
      expect((await ask(PAGE, newBrowser(), { host: 'evil.example' })).message).toContain(HOST);
      const { location } = await ask(PAGE, newBrowser(), { host: 'closed.example' });
      expect((await first.get(location)).status).toBe(400);
    });

    test('without a scope, no token is accepted, because it could be for any API', async () => {
      const { access_token: token } = await first.tokensFor();
      const headers = { Authorization: `Bearer ${token}` };
      const any = await ask(PAGE, newBrowser(), { headers });
      expect([any.status, any.code]).toEqual([401, 'unauthorized']);
      const scoped = await ask(PAGE, newBrowser(), { headers, query: '&scope=device:read' });
      expect([scoped.status, scoped.headers['x-auth-user']]).toEqual([200, alice.username]);
    });
  });

  describe('the challenge names the metadata', () => {
    const challengeFor = async (query: string, headers: Fields) => {
      const asked = { 'X-Original-Method': 'POST', 'X-Original-URI': '/mcp', ...headers };
      const reply = await send(port, `/_verify${query}`, { headers: asked });
      return reply.headers['www-authenticate'];
    };
    const metadata =
      'resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp"';

    test('of the scope, and of the host that was asked for', async () => {
      expect(await challengeFor('?scope=tools:call', {})).toContain(metadata);
      expect(await challengeFor('', { 'X-Forwarded-Host': 'tools.example' })).toContain(metadata);
      expect(
        await challengeFor(`?browser=${HOST}`, { 'X-Forwarded-Host': 'tools.example' }),
      ).toContain(metadata);
    });

    test('of the device API for any other host', async () => {
      for (const host of ['evil.example', 'tools.example.evil', 'tools.example/mcp', '']) {
        const challenge = await challengeFor('', { 'X-Forwarded-Host': host });
        expect(challenge).toContain(`resource_metadata="${gatewayUrl}/.well-known`);
      }
    });
  });

  test('a sign-in and a sign-out are audited', async () => {
    const browser = await signIn();
    const headers = { ...navigation, 'Sec-Fetch-Site': 'same-origin' };
    await ask('/_gatehouse/sign-out', browser, { headers });
    const clientId = `gatehouse:browser:${HOST}`;
    await until(async () => {
      const entries = await identity.audit.read({ clientId, limit: 100 });
      const events = new Set(entries.map(({ event }) => event));
      return events.has('token_issued') && events.has('token_revoked');
    });
  });

  test('a proxy can require an acr, and a sign-in that cannot reach it fails once', async () => {
    const query = `&acr=${TWO_FACTORS}`;
    const weak = await signIn();
    const { status, headers } = await ask(PAGE, weak, { query, headers: script });
    expect([status, headers['www-authenticate']]).toEqual([
      401,
      expect.stringContaining(`insufficient_user_authentication", acr_values="${TWO_FACTORS}"`),
    ]);
    const { location } = await ask(PAGE, weak, { query });
    const failed = new URL((await weak.visitor.get(location)).location ?? '');
    const shown = await ask(pathOf(failed), weak, { query });
    expect([shown.status, shown.message]).toEqual([
      400,
      expect.stringContaining('unmet_authentication_requirements'),
    ]);

    // Where operators allow it, the user enrolls a factor.
    const strong = newBrowser();
    const wiki = { host: 'wiki.example', query };
    const { visitor } = strong;
    const begun = await visitor.get((await ask(PAGE, strong, wiki)).location);
    const form = await signInAt(begun, carol, visitor, ({ body }) => body.includes('class="qr"'));
    const codes = await visitor.submit(form, { code: codeOfApp(secretOfPage(form)) });
    let page = await visitor.submit(codes, {});
    while (page.location?.startsWith(first.issuer) === true) {
      page = await visitor.get(page.location);
    }
    expect((await ask(pathOf(new URL(page.location ?? '')), strong, wiki)).status).toBe(302);
    expect((await ask(PAGE, strong, wiki)).status).toBe(200);
  });
});
