import { connect } from 'node:net';
import {
  authorizeAsUser,
  createPageVisitor,
  type PageVisitor,
  type VisitedPage,
} from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, odd } from './fixtures.ts';
import {
  bob,
  bootstrap,
  deceiver,
  failToSignIn,
  introspect,
  openPage,
  startDevice,
  tokensFor,
} from './page-fixtures.ts';

const system = await startSystem({ engine: 'sqlite', bootstrap, apps: ['authorization-server'] });
const issuer = system.authorizationServerUrl;

const signInPage = async (visitor: PageVisitor, parameters: Record<string, string> = {}) =>
  visitor.get((await visitor.get(authorizationUrl(issuer, parameters))).location ?? '');

async function consentPage(visitor: PageVisitor, parameters: Record<string, string> = {}) {
  const posted = await visitor.submit(await signInPage(visitor, parameters), alice);
  return visitor.get((await visitor.get(posted.location ?? '')).location ?? '');
}

/** Every page, by name. */
async function everyPage(language = 'en'): Promise<ReadonlyMap<string, VisitedPage>> {
  const visitor = createPageVisitor();
  const anonymous = createPageVisitor();
  const headers = { 'accept-language': language };
  const pages = new Map<string, VisitedPage>();
  const keep = (name: string, page: VisitedPage) => pages.set(name, page);
  const again = async (name: string, page: VisitedPage) =>
    keep(name, await visitor.get(page.url, headers));

  keep('welcome', await anonymous.get(`${issuer}/`, headers));
  keep('not found', await anonymous.get(`${issuer}/nothing-here`, headers));
  keep('bad request', await anonymous.get(`${issuer}/authorize?client_id=nobody`, headers));
  keep('cookies blocked', await createPageVisitor().get(`${issuer}/sign-in/unknown`, headers));
  keep('expired', await anonymous.get(`${issuer}/sign-in/unknown`, { ...headers, cookie: 'x=1' }));
  keep('cookies refused', await anonymous.get(`${issuer}/account/signed-in`, headers));
  keep('signed out', await anonymous.get(`${issuer}/logout/success`, headers));
  keep('signed out everywhere', await anonymous.get(`${issuer}/account/signed-out`, headers));
  await again('sign-in', await signInPage(visitor));
  const consent = await consentPage(visitor);
  await again('consent', consent);
  keep('other account', await visitor.get(`${consent.url}/account`, headers));
  keep('account', await openPage(visitor, `${issuer}/account`));
  await again('account', pages.get('account') as VisitedPage);
  keep('password', await visitor.get(`${issuer}/account/password`, headers));
  keep('logout', await visitor.get(`${issuer}/logout`, headers));
  keep('device', await visitor.get(`${issuer}/device`, headers));
  const { user_code } = await startDevice(issuer);
  const device = pages.get('device') as VisitedPage;
  keep('confirm', await visitor.submit(device, { user_code }));
  keep('wrong code', await visitor.submit(device, { user_code: 'BBBBBBBB' }));
  return pages;
}

describe('every page', () => {
  test('is protected against framing, caching, sniffing, scripts and third parties', async () => {
    for (const [name, { headers, body, status }] of await everyPage()) {
      const policy = headers.get('content-security-policy') ?? '';
      const script = name === 'welcome' ? "script-src 'self';" : '';
      const targets = /consent|sign-in|other account/.test(name) ? ' https://app.example' : '';
      expect([name, policy.replaceAll('; ', ';')]).toEqual([
        name,
        `default-src 'none';style-src 'self';img-src 'self';${script}form-action 'self'${targets};frame-ancestors 'none';base-uri 'none'`,
      ]);
      expect([name, headers.get('x-frame-options'), headers.get('cache-control')]).toEqual([
        name,
        'DENY',
        'no-store',
      ]);
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(body).not.toMatch(/(src|href|action)="(https?:)?\/\//);
      expect(body).not.toMatch(/<style|style="| on\w+="|javascript:/);
      expect([name, body.match(/<script[^>]*>/g) ?? []]).toEqual([
        name,
        name === 'welcome' ? ['<script src="/assets/sign-in-link.js" defer>'] : [],
      ]);
      expect([name, body]).toEqual([name, expect.stringContaining('href="/assets/favicon.svg"')]);
      expect([name, status < 500]).toEqual([name, true]);
    }
  });

  test('has a title with the product, one main heading, a language and labels for its fields', async () => {
    for (const [name, { body }] of await everyPage()) {
      expect([name, body]).toEqual([
        name,
        expect.stringMatching(/<title>[^<]+ · Gatehouse<\/title>/),
      ]);
      expect([name, body.match(/<h1>/g)?.length]).toEqual([name, 1]);
      expect(body).toContain('<html lang="en">');
      for (const [field, id] of body.matchAll(/<input(?! type="hidden")[^>]* id="(\w+)"[^>]*>/g)) {
        expect(body).toContain(`<label for="${id}">`);
        expect(field).toContain('autocomplete=');
      }
    }
  });

  test('is completely in Chinese if the browser prefers it', async () => {
    const ours = /Gatehouse|Cookie|Example|Living room TV|Application ID|Alice|app\.example/g;
    for (const [name, { body }] of await everyPage('zh-CN,zh;q=0.9,en;q=0.5')) {
      if (name === 'confirm' || name === 'wrong code') {
        continue; // The test posts this form without a language.
      }
      expect([name, body]).toEqual([name, expect.stringContaining('<html lang="zh-CN">')]);
      const text = body
        .replace(/[\s\S]*<main[^>]*>/, '')
        .replace(/<bdi[^>]*>[^<]*<\/bdi>/g, '')
        .replace(/<[^>]*translate="no"[^>]*>[^<]*/g, '')
        .replace(/<[^>]*>/g, ' ')
        .replace(/[0-9a-f-]{30,}|[A-Z]{4}-[A-Z]{4}|[\w.]+@|localhost/g, '')
        .replace(ours, '');
      expect([name, text.match(/[A-Za-z]{4,}/g) ?? []]).toEqual([name, []]);
    }
  });

  test('is in the language that the application requests (ui_locales)', async () => {
    const page = await signInPage(createPageVisitor(), { ui_locales: 'fr zh-CN en' });
    expect(page.body).toContain('<html lang="zh-CN">');
  });
});

describe('the sign-in and consent pages', () => {
  test('reject a form from another site, whatever its cookie and token', async () => {
    const visitor = createPageVisitor();
    const page = await signInPage(visitor);
    const csrf = /name="csrf" value="([^"]*)"/.exec(page.body)?.[1] ?? '';
    const cookie = [...visitor.cookies].map(([name, value]) => `${name.split('|')[0]}=${value}`);
    const post = (headers: Record<string, string>, fields: Record<string, string>) =>
      fetch(`${page.url}/credentials`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie: cookie.join('; '), ...headers },
        body: new URLSearchParams({ ...alice, ...fields }),
      });
    expect((await post({ 'sec-fetch-site': 'cross-site' }, { csrf })).status).toBe(403);
    expect((await post({ 'sec-fetch-site': 'same-site' }, { csrf })).status).toBe(403);
    expect((await post({ origin: 'https://evil.example' }, {})).status).toBe(403);
    expect((await post({ 'sec-fetch-site': 'same-origin' }, { csrf })).status).toBe(303);
  });

  test('never adopt a session id that an attacker set', async () => {
    const visitor = createPageVisitor();
    const attacker = createPageVisitor();
    await authorizeAsUser(authorizationUrl(issuer), alice, attacker);
    const signature = attacker.cookies.get('session.sig|/') ?? '';
    for (const cookie of ['session=known', `session=known; session.sig=${signature}`]) {
      const reply = await fetch(authorizationUrl(issuer), {
        redirect: 'manual',
        headers: { cookie },
      });
      expect(reply.headers.get('location')).toContain('/sign-in/');
      const set = reply.headers.getSetCookie().join('\n');
      expect(set).not.toContain('session=known');
      const account = await fetch(`${issuer}/account`, { redirect: 'manual', headers: { cookie } });
      expect(account.status).toBe(303);
    }
    await authorizeAsUser(authorizationUrl(issuer), alice, visitor);
    expect(visitor.cookies.get('session|/')).toMatch(/^[\w-]{21,}$/);
  });

  test('escape hint, username, client name, scope, state and address', async () => {
    const marked = '"><script>alert(1)</script>\'';
    const hinted = await signInPage(createPageVisitor(), { login_hint: marked, state: marked });
    expect(hinted.body).toContain('value="&quot;&gt;&lt;script&gt;');
    const failed = await createPageVisitor();
    const page = await signInPage(failed);
    const echoed = await failToSignIn(failed, page, {
      username: marked,
      password: 'wrong password',
    });
    expect(echoed.body).toContain('value="&quot;&gt;&lt;script&gt;');
    const oddName = await signInPage(createPageVisitor(), {
      client_id: odd.clientId,
      redirect_uri: 'https://odd.example/one',
      state: marked,
    });
    expect(oddName.body).toContain('Odd &lt;b&gt;name&lt;/b&gt;');
    for (const { body } of [hinted, echoed, oddName]) {
      expect(body).not.toMatch(/<script|<b>name/);
    }
  });

  test('support password managers and pasting', async () => {
    const { body } = await signInPage(createPageVisitor());
    expect(body).toMatch(/<input id="username"[^>]*type="text"[^>]*autocomplete="username"/);
    expect(body).toMatch(
      /<input id="password"[^>]*type="password"[^>]*autocomplete="current-password"/,
    );
    expect(body).not.toMatch(/onpaste|readonly/);
  });

  test('show the error next to the typed text, and focus the next field', async () => {
    const visitor = createPageVisitor();
    const first = await signInPage(visitor);
    expect(first.body).toMatch(/id="username"[^>]* autofocus/);
    const hinted = await signInPage(createPageVisitor(), { login_hint: 'alice' });
    expect(hinted.body).toMatch(/id="password"[^>]* autofocus/);
    const typed = { username: 'alice', password: 'wrong password' };
    const failed = await failToSignIn(visitor, first, typed);
    expect(failed.body).toMatch(/role="alert" id="problem"/);
    expect(failed.body).toContain('After several wrong attempts, wait 15 minutes.');
    expect(failed.body.match(/aria-invalid="true" aria-describedby="problem"/g)).toHaveLength(2);
    expect(failed.body).toMatch(/id="password"[^>]* autofocus/);
  });

  test('put no credential into URLs, error pages or the log', async () => {
    const visitor = createPageVisitor();
    const page = await signInPage(visitor);
    const typed = { username: 'alice', password: 'a secret that is typed' };
    const failed = await visitor.submit(page, typed);
    const rejected = await visitor.submit(page, { ...typed, csrf: 'x' });
    const done = await visitor.submit(page, alice);
    for (const { body, location, headers } of [failed, rejected, done]) {
      for (const secret of [typed.password, alice.password]) {
        expect(body + location + JSON.stringify([...headers])).not.toContain(secret);
      }
    }
    expect(await system.output()).not.toContain(typed.password);
    expect(await system.output()).not.toContain(alice.password);
  });

  test('answer every form with 303, so that no redirect repeats the POST', async () => {
    const visitor = createPageVisitor();
    const posted = await visitor.submit(await signInPage(visitor), alice);
    expect(posted.status).toBe(303);
    const toConsent = await visitor.get(posted.location ?? '');
    const consent = await visitor.get(toConsent.location ?? '');
    expect((await visitor.submit(consent, { decision: 'allow' })).status).toBe(303);
  });

  test('show a deceiving name as inert text, and the id next to it', async () => {
    const { body } = await consentPage(createPageVisitor(), {
      client_id: deceiver.clientId,
      redirect_uri: 'https://deceiver.example/callback',
    });
    expect(body).toContain('<bdi>Bankgnp.exe &lt;i&gt;x&lt;/i&gt;</bdi>');
    expect(body).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/u);
    expect(body).toContain('<dt>Application ID</dt><dd translate="no">pages-deceiver</dd>');
    expect(body).toContain('deceiver.example');
  });

  test('show the organization and the destination of the application above the buttons', async () => {
    const { body } = await consentPage(createPageVisitor());
    const [aboveButtons = ''] = body.split('<button');
    expect(aboveButtons).toContain('<dt>Organization</dt><dd><bdi>Example</bdi></dd>');
    expect(aboveButtons).toContain('<bdi translate="no">app.example</bdi>');
    expect(aboveButtons).toContain('<dd translate="no">web</dd>');
  });

  test('name blocked cookies as the cause when a browser sends none', async () => {
    const { location = '' } = await createPageVisitor().get(authorizationUrl(issuer));
    const blocked = await createPageVisitor().get(location);
    expect([blocked.status, blocked.body]).toEqual([
      400,
      expect.stringContaining('Your browser sent no cookies.'),
    ]);
    const other = await fetch(location, { headers: { cookie: 'session=unknown' } });
    expect([other.status, await other.text()]).toEqual([
      400,
      expect.stringContaining('has expired or was started in another browser'),
    ]);
  });

  test('can be reloaded after a failed sign-in, also for another account', async () => {
    const visitor = createPageVisitor();
    const first = await signInPage(visitor);
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

  test.each([
    ['allow', 'https://app.example/'],
    ['deny', 'https://app.example/'],
  ])('lead back to the application after %s', async (decision, address) => {
    const visitor = createPageVisitor();
    const first = await signInPage(visitor);
    const signedIn = await visitor.submit(first, alice);
    const consent = await visitor.get((await visitor.get(signedIn.location ?? '')).location ?? '');
    const posted = await visitor.submit(consent, { decision });
    await visitor.get(posted.location ?? '');
    for (const url of [consent.url, first.url]) {
      const back = await visitor.get(url);
      expect(back.status).toBe(400);
      expect(back.body).toContain('You have already finished this step.');
      expect(back.body).toContain(`href="${address}">Continue<`);
      expect(back.body).not.toContain('Alice');
    }
    const again = await visitor.submit(consent, { decision });
    expect([again.status, again.location]).toEqual([400, undefined]);
  });

  test('say that the user was signed out if a form of the account arrives without a session', async () => {
    const [visitor, elsewhere] = [createPageVisitor(), createPageVisitor()];
    await openPage(visitor, `${issuer}/account`, bob);
    const password = await visitor.get(`${issuer}/account/password`);
    const question = await visitor.get(`${issuer}/logout`);
    await openPage(elsewhere, `${issuer}/account`, bob);
    const everywhere = await elsewhere.get(`${issuer}/account/sign-out-everywhere`);
    await elsewhere.submit(everywhere, {});
    const reply = await visitor.submit(password, { current: 'x', wanted: 'y', repeated: 'y' });
    expect([reply.status, reply.body]).toEqual([
      403,
      expect.stringContaining('You were signed out in the meantime.'),
    ]);
    expect(reply.body).toContain('href="/account">Sign in again<');
    await visitor.submit(question, { logout: 'yes' });
    const twice = await visitor.submit(question, { logout: 'yes' });
    expect(twice.body).toContain('You were signed out in the meantime.');
  });

  test('ask once for a session, and again for more', async () => {
    const visitor = createPageVisitor();
    await authorizeAsUser(authorizationUrl(issuer, { scope: 'device:read' }), alice, visitor);
    const again = await visitor.get(authorizationUrl(issuer, { scope: 'device:read' }));
    expect(new URL(again.location ?? '').searchParams.has('code')).toBe(true);
    const more = await openPage(
      visitor,
      authorizationUrl(issuer, { scope: 'device:read profile' }),
    );
    expect(more.body).toContain('See your name and username');
  });

  test('let the user change the account, and end the former session with its tokens', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor(issuer, visitor);
    const consent = await openPage(
      visitor,
      authorizationUrl(issuer, { prompt: 'consent', scope: 'openid' }),
    );
    expect(consent.body).toContain('Alice Example');
    const other = await visitor.get(`${consent.url}/account`);
    let page = await visitor.submit(other, bob);
    while (page.location?.startsWith(issuer)) {
      page = await visitor.get(page.location);
    }
    expect(page.body).toContain('Bob &lt;Example&gt;');
    page = await visitor.submit(page, { decision: 'allow' });
    const landing = new URL((await visitor.get(page.location ?? '')).location ?? '');
    expect(landing.searchParams.has('code')).toBe(true);
    expect(await introspect(issuer, tokens.access_token)).toEqual({ active: false });
    expect((await visitor.get(`${issuer}/account`)).body).toContain('Bob &lt;Example&gt;');
  });

  test('let the user change the account by prompt=login, without a page that submits itself', async () => {
    const visitor = createPageVisitor();
    await tokensFor(issuer, visitor);
    const url = authorizationUrl(issuer, { prompt: 'login', scope: 'openid' });
    const landing = await authorizeAsUser(url, bob, visitor);
    expect(landing.searchParams.has('code')).toBe(true);
    expect((await visitor.get(`${issuer}/account`)).body).toContain('Bob &lt;Example&gt;');
  });
});

describe('the addresses', () => {
  test('never lead to a built-in page of the library', async () => {
    const paths = [
      '/interaction/abc',
      '/me',
      '/request',
      '/reg',
      '/session/end',
      '/session/end/success',
    ];
    for (const path of [...paths, '/auth', '/introspection', '/.well-known/webfinger']) {
      expect([path, (await fetch(issuer + path, { redirect: 'manual' })).status]).toEqual([
        path,
        404,
      ]);
    }
  });

  test.each(['/_verify', '/_verify/api/device'])(
    'do not include %s, to which an Ingress sends questions of callers for the gateway',
    async (path) => {
      const headers = { Authorization: 'Bearer x', 'X-Original-Method': 'GET' };
      const reply = await fetch(issuer + path, { headers, redirect: 'manual' });
      expect([reply.status, reply.headers.has('authorization')]).toEqual([404, false]);
    },
  );

  test('reject too many cookies with an error page, and continue to work', async () => {
    const { port } = new URL(issuer);
    const many = Array.from({ length: 200 }, (_, i) => `c${i}=${'x'.repeat(8)}`).join('; ');
    const cookies = [
      many,
      `session=${'x'.repeat(15 * 1024)}`,
      'x'.repeat(40 * 1024),
      '__proto__=1; constructor=2; session=__proto__',
      'session; =; ;;; session==; session="',
      'session=%E0%A4%A; interaction=%00; resume=../../',
    ];
    for (const cookie of cookies) {
      for (const path of [
        '/device',
        '/account',
        '/logout',
        '/authorize?client_id=web&response_type=code',
        '/sign-in/x',
      ]) {
        const status = await rawStatus(Number(port), path, cookie);
        expect([path, status]).toEqual([path, expect.stringMatching(/^(200|302|303|400|431)$/)]);
      }
    }
    expect((await fetch(`${issuer}/`)).status).toBe(200);
  });

  test('serve their icon to any browser, for caching', async () => {
    const { status, headers } = await fetch(`${issuer}/assets/favicon.svg`);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('image/svg+xml');
    expect(headers.get('cache-control')).toBe('public, max-age=3600');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  test('serve the script of the sign-in link from the same origin', async () => {
    const reply = await fetch(`${issuer}/assets/sign-in-link.js`);
    expect([reply.status, reply.headers.get('content-type')]).toEqual([
      200,
      'text/javascript; charset=utf-8',
    ]);
    const text = await reply.text();
    expect(text).not.toMatch(/innerHTML|document\.write|eval|insertAdjacent/);
  });
});

/** fetch does not send some of these headers. */
function rawStatus(port: number, path: string, cookie: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, 'localhost');
    let received = '';
    socket.once('error', reject);
    socket.on('data', (data) => {
      received += data.toString('latin1');
    });
    socket.once('close', () => resolve(received.split(' ')[1] ?? ''));
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: ${cookie}\r\n\r\n`,
    );
  });
}
