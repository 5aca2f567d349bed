/**
 * What pages have in common, and which addresses exist. accessibility.browser.test.ts visits every page.
 */
import {
  createPageVisitor,
  exchange,
  type PageVisitor,
  type VisitedPage,
} from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { web } from './installation.ts';
import { startServers, withForm } from './server.ts';

const { issuer, get, open, openConsent, openSignIn, startDevice } = (await startServers()).first;

/** Pages of each kind, by name. */
async function openPages(language: string): Promise<ReadonlyMap<string, VisitedPage>> {
  const visitor = createPageVisitor();
  const headers = { 'accept-language': language };
  const pages = new Map<string, VisitedPage>();
  const keep = (name: string, page: VisitedPage) => pages.set(name, page);
  const reload = ({ url }: VisitedPage) => visitor.get(url, headers);

  keep('welcome', await get('/', headers));
  keep('not found', await get('/nothing-here', headers));
  keep('bad request', await get('/authorize?client_id=nobody', headers));
  keep('cookies blocked', await get('/sign-in/unknown', headers));
  keep('expired', await get('/sign-in/unknown', { ...headers, cookie: 'x=1' }));
  keep('cookies refused', await get('/account/signed-in', headers));
  keep('signed out', await get('/logout/success', headers));
  keep('signed out everywhere', await get('/account/signed-out', headers));
  keep('sign-in', await reload(await openSignIn(visitor)));
  const consent = await openConsent(visitor);
  keep('consent', await reload(consent));
  keep('other account', await visitor.get(`${consent.url}/account`, headers));
  keep('account', await reload(await open(visitor, '/account')));
  keep('password', await visitor.get(`${issuer}/account/password`, headers));
  keep('logout', await visitor.get(`${issuer}/logout`, headers));
  const device = await visitor.get(`${issuer}/device`, headers);
  keep('device', device);
  const { user_code = '' } = await startDevice();
  keep('confirm', await visitor.submit(device, { user_code }, headers));
  keep('wrong code', await visitor.submit(device, { user_code: 'BBBBBBBB' }, headers));
  return pages;
}

test('a page has only the scripts and targets of forms that it needs, and names its fields', async () => {
  for (const [name, { headers, body }] of await openPages('en')) {
    const file =
      name === 'welcome'
        ? 'sign-in-link'
        : /^(sign-in|other account|password)$/.test(name) && 'show-password';
    const script = file ? "script-src 'self';" : '';
    const targets = /consent|sign-in|other account/.test(name) ? ' https://app.example' : '';
    const policy = headers.get('content-security-policy')?.replaceAll('; ', ';');
    expect([name, policy]).toEqual([
      name,
      `default-src 'none';style-src 'self';img-src 'self';${script}form-action 'self'${targets};frame-ancestors 'none';base-uri 'none'`,
    ]);
    expect([name, headers.get('x-content-type-options')]).toEqual([name, 'nosniff']);
    expect(body).not.toMatch(/(src|href|action)="(https?:)?\/\//);
    expect(body).not.toMatch(/<style|style="| on\w+="|javascript:/);
    const scripts = file ? [`<script src="/assets/${file}.js" defer>`] : [];
    expect([name, body.match(/<script[^>]*>/g) ?? []]).toEqual([name, scripts]);
    for (const [field] of body.matchAll(/<input(?! type="hidden")[^>]* id="\w+"[^>]*>/g)) {
      expect(field).toContain('autocomplete=');
    }
  }
});

test('a page is completely in Chinese if the browser prefers it', async () => {
  const ours = /Gatehouse|Cookie|Example|Living room TV|Application ID|Alice|app\.example/g;
  for (const [name, { body }] of await openPages('zh-CN,zh;q=0.9,en;q=0.5')) {
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

test.each([
  ['/assets/pages.css', 'text/css; charset=utf-8'],
  ['/assets/favicon.svg', 'image/svg+xml'],
  ['/assets/sign-in-link.js', 'text/javascript; charset=utf-8'],
  ['/assets/submit-form.js', 'text/javascript; charset=utf-8'],
  ['/assets/show-password.js', 'text/javascript; charset=utf-8'],
])('%s is a file that any browser may cache', async (path, type) => {
  const { status, headers, body } = await get(path);
  expect([status, headers.get('content-type')]).toEqual([200, type]);
  expect(headers.get('cache-control')).toBe('public, max-age=3600');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(body).not.toMatch(/innerHTML|document\.write|eval|insertAdjacent/);
});

test.each([
  ...['/interaction/abc', '/me', '/request', '/reg', '/session/end', '/session/end/success'],
  ...['/auth', '/introspection', '/.well-known/webfinger', '/TOKEN', '/AUTHORIZE', '/authorize/'],
  ...['//authorize', '//token', '/%74oken', '/Platform/oauth2/token'],
  // An Ingress sends questions of callers for the gateway to this path.
  ...['/_verify', '/_verify/api/device'],
])('there is no address %s', async (path) => {
  const { status, headers } = await get(issuer + path, { authorization: 'Bearer x' });
  expect([status, headers.get('set-cookie'), headers.has('authorization')]).toEqual([
    404,
    null,
    false,
  ]);
});

test.each([
  ['/.well-known/openid-configuration', 'GET, HEAD'],
  ['/jwks', 'GET, HEAD'],
  ['/token', 'POST'],
  ['/platform/oauth2/token', 'POST'],
  ['/userinfo', 'GET, POST'],
  ['/authorize', 'GET, HEAD, POST'],
  ['/logout', 'GET, HEAD, POST'],
  ['/logout/confirm', 'POST'],
  ['/device', 'GET, HEAD, POST'],
  ['/account', 'GET, HEAD'],
  ['/account/password', 'GET, HEAD, POST'],
  ['/sign-in/unknown', 'GET, HEAD'],
  ['/sign-in/unknown/credentials', 'GET, HEAD, POST'],
  ['/assets/pages.css', 'GET, HEAD'],
  ['/', 'GET, HEAD'],
])('%s allows %s', async (path, allow) => {
  for (const method of ['PUT', 'DELETE', 'PATCH']) {
    const reply = await fetch(issuer + path, { method, redirect: 'manual' });
    expect([method, reply.status, reply.headers.get('allow')]).toEqual([method, 405, allow]);
    expect(reply.headers.get('set-cookie')).toBeNull();
  }
});

test.each([
  ...['/token/', '/token/x', '/revoke/', '/introspect/', '/par/', '/device/auth/', '/userinfo/'],
  ...['/jwks/', '/platform/oauth2/token/', '/.well-known/openid-configuration/'],
])('%s is answered by JSON with the path of the endpoint', async (path) => {
  for (const method of ['GET', 'POST']) {
    const headers = { accept: 'text/html' };
    const reply = await fetch(issuer + path, { method, headers, redirect: 'manual' });
    expect([reply.status, reply.headers.get('content-type')]).toEqual([
      404,
      'application/json;charset=UTF-8',
    ]);
    const { error_description: description } = (await reply.json()) as Record<string, string>;
    expect(description).toContain(path.replace(/\/x?$/, ''));
  }
});

/** Sends a GET that fetch does not send, and returns the reply. */
const sendRaw = (target: string, header = 'X: x') =>
  exchange(issuer, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}\r\n\r\n`);

test.each(['http://x:99999/token', 'http://[/authorize', 'http://user@evil.example/', '*'])(
  'the target %s is rejected before routing',
  async (target) => {
    expect(await sendRaw(target)).toMatch(/^HTTP\/1\.1 400 /);
  },
);

test.each([
  ['200 cookies', Array.from({ length: 200 }, (_, i) => `c${i}=${'x'.repeat(8)}`).join('; ')],
  ['one of 15 KB', `session=${'x'.repeat(15 * 1024)}`],
  ['40 KB', 'x'.repeat(40 * 1024)],
  ['names of members', '__proto__=1; constructor=2; session=__proto__'],
  ['no pairs', 'session; =; ;;; session==; session="'],
  ['wrong encodings', 'session=%E0%A4%A; interaction=%00; resume=../../'],
])('unusual cookies do no harm: %s', async (_what, cookie) => {
  const authorize = '/authorize?client_id=web&response_type=code';
  for (const path of ['/device', '/account', '/logout', authorize, '/sign-in/x']) {
    const reply = await sendRaw(path, `Cookie: ${cookie}`);
    expect([path, reply]).toEqual([path, expect.stringMatching(/^\S+ (200|302|303|400|431) /)]);
  }
  expect((await get('/')).status).toBe(200);
});

/** Chooses a language in the menu of a page. */
const choose = (visitor: PageVisitor, page: VisitedPage, language: string) =>
  visitor.submit(withForm({ ...page, body: page.body.replaceAll('&amp;', '&') }, '/language'), {
    language,
  });
const languageOf = ({ body }: VisitedPage) => /<html lang="([^"]*)"/.exec(body)?.[1];

test('the menu of languages returns to its page, and every later page has the language', async () => {
  const visitor = createPageVisitor();
  const page = await visitor.get(`${issuer}/no-such-page?a=b&c=%26`);
  const reply = await choose(visitor, page, 'zh-CN');
  expect([reply.status, reply.location]).toEqual([303, page.url]);
  expect(reply.headers.get('set-cookie')).toMatch(
    /^language=zh-CN; Max-Age=31536000; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
  );
  for (const path of ['/', '/device', '/sign-in/unknown']) {
    expect(languageOf(await visitor.get(issuer + path, { 'accept-language': 'en' }))).toBe('zh-CN');
  }
});

test('an application precedes a remembered language, and a choice on the page precedes the application', async () => {
  const visitor = createPageVisitor();
  await choose(visitor, await visitor.get(`${issuer}/`), 'zh-CN');
  const page = await openSignIn(visitor, { ui_locales: 'en' });
  expect(languageOf(page)).toBe('en');
  const reply = await choose(visitor, page, 'zh-CN');
  expect(languageOf(await visitor.get(reply.location ?? ''))).toBe('zh-CN');
  expect(languageOf(await openSignIn(visitor, { ui_locales: 'en' }))).toBe('en');
  const failed = await visitor.get(`${issuer}/logout?ui_locales=en&client_id=nobody`);
  expect((await choose(visitor, failed, 'zh-CN')).location).not.toContain('ui_locales');
});

test.each([
  ['zh', 'zh-CN'],
  ['zh-Hans-SG', 'zh-CN'],
  ['en-GB,zh;q=0.5', 'en'],
  ['xx, *;q=0.1', 'en'],
  ['not a language, zh;q=0.1', 'zh-CN'],
  [`${'xx,'.repeat(30)}zh`, 'en'],
])('a browser that prefers %s gets a language', async (accepted, language) => {
  expect(languageOf(await get('/', { 'accept-language': accepted }))).toBe(language);
});

test.each([
  ['//evil.example/', '/'],
  ['/\\evil.example/', '/'],
  ['/.//evil.example/', '/'],
  ['https://evil.example/', '/'],
  ['javascript:alert(1)', '/'],
  ['/a\r\nx: y', '/ax:%20y'],
  ['', '/'],
])('the menu of languages never leads away: %j', async (next, expected) => {
  const body = new URLSearchParams({ next, language: 'en' });
  const reply = await fetch(`${issuer}/language`, { method: 'POST', body, redirect: 'manual' });
  expect([reply.status, reply.headers.get('location')]).toEqual([303, expected]);
});

test('another site, or an unknown language, changes nothing', async () => {
  const body = new URLSearchParams({ next: '/', language: 'en' });
  const headers = { 'sec-fetch-site': 'cross-site' };
  const foreign = await fetch(`${issuer}/language`, { method: 'POST', body, headers });
  expect([foreign.status, foreign.headers.get('set-cookie')]).toEqual([403, null]);
  body.set('language', 'xx');
  const reply = await fetch(`${issuer}/language`, { method: 'POST', body, redirect: 'manual' });
  expect(reply.headers.get('set-cookie')).toBeNull();
});

test('an error page names the problem in its heading, and has a way back', async () => {
  const wrong = {
    response_type: 'code',
    client_id: web.clientId,
    redirect_uri: 'https://x.example/',
  };
  for (const [path, heading, back] of [
    ['/nothing', 'Page not found', 'href="/"'],
    ['/sign-in/unknown', 'This sign-in has expired', 'href="/"'],
    [
      `/authorize?${new URLSearchParams(wrong)}`,
      'The application sent an invalid request',
      'href="https://app.example/"',
    ],
  ] as const) {
    const { body } = await get(path, { cookie: 'x=1' });
    expect(body).toContain(`<h1>${heading}</h1>`);
    expect(body).toContain(back);
  }
});
