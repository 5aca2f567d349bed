import { authorizeAsUser, createPageVisitor } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, basic, bootstrap, browserApp, odd, web } from './fixtures.ts';
import { failToSignIn } from './page-fixtures.ts';

const system = await startSystem({
  engine: 'sqlite',
  bootstrap,
  apps: ['authorization-server'],
});
const issuer = system.authorizationServerUrl;

/** Sends one request and does not follow redirects. */
async function visit(query: string, headers: Record<string, string> = {}) {
  const reply = await fetch(`${issuer}/authorize?${query}`, { redirect: 'manual', headers });
  const location = reply.headers.get('location');
  return {
    status: reply.status,
    headers: reply.headers,
    location: location === null ? undefined : new URL(location, issuer),
    body: await reply.text(),
  };
}

const redirectUri = `redirect_uri=${encodeURIComponent(web.redirectUri)}`;
const good = `response_type=code&client_id=web&${redirectUri}&state=a%20b%2Bc`;

function expectPage(reply: Awaited<ReturnType<typeof visit>>) {
  expect(reply.status).toBe(400);
  expect(reply.location).toBeUndefined();
  expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(reply.body).toContain('<h1>');
}

describe('the authorization endpoint', () => {
  test('answers a request without client_id with a page and no redirect', async () => {
    expectPage(await visit(`response_type=code&${redirectUri}`));
  });

  test('answers an unknown client_id with a page and no redirect', async () => {
    expectPage(await visit(`response_type=code&client_id=nobody&${redirectUri}`));
  });

  test('never puts markup from a parameter into a page', async () => {
    const markup = encodeURIComponent('"><script>alert(1)</script>');
    for (const query of [
      `response_type=code&client_id=${markup}&${redirectUri}`,
      `response_type=code&client_id=web&redirect_uri=${markup}`,
      `response_type=code&client_id=web&redirect_uri=https%3A%2F%2Fevil.example&scope=${markup}`,
    ]) {
      const reply = await visit(query);
      expectPage(reply);
      expect(reply.body).not.toContain('<script');
    }
  });

  test('redirects a request without response_type with invalid_request and the state', async () => {
    const reply = await visit(`client_id=web&${redirectUri}&state=s1`);
    expect(reply.status).toBe(302);
    expect(reply.location?.origin).toBe('https://app.example');
    expect(reply.location?.searchParams.get('error')).toBe('invalid_request');
    expect(reply.location?.searchParams.get('state')).toBe('s1');
    expect(reply.location?.searchParams.get('iss')).toBe(issuer);
  });

  test('rejects an unknown response_type', async () => {
    const reply = await visit(`response_type=foo&client_id=web&${redirectUri}&state=s1`);
    expect(reply.location?.searchParams.get('error')).toBe('unsupported_response_type');
  });

  test.each(['code token', 'token code', 'id_token token', 'token', 'id_token'])(
    'returns no token in the front channel for response_type=%s',
    async (type) => {
      const reply = await visit(
        `response_type=${encodeURIComponent(type)}&client_id=web&${redirectUri}&nonce=n`,
      );
      expect(reply.status).toBe(302);
      const refusal = type.includes('code') ? 'unsupported_response_type' : 'unauthorized_client';
      expect(reply.location?.href).toContain(`error=${refusal}`);
      expect(reply.location?.href).not.toContain('access_token');
    },
  );

  test.each([
    ['client_id', 'web'],
    ['client_id', 'other'],
    ['redirect_uri', web.redirectUri],
    ['redirect_uri', 'https://evil.example/'],
  ])('answers a second %s (%s) with a page', async (name, value) => {
    expectPage(await visit(`${good}&${name}=${encodeURIComponent(value)}`));
  });

  test.each([
    ['state', 'a b+c'],
    ['state', 'other'],
    ['scope', 'openid'],
    ['scope', 'device:read'],
    ['response_type', 'code'],
    ['response_type', 'token'],
  ])('answers a second %s (%s) with invalid_request', async (name, value) => {
    const reply = await visit(`${good}&scope=openid&${name}=${encodeURIComponent(value)}`);
    expect(reply.location?.origin).toBe('https://app.example');
    expect(reply.location?.searchParams.get('error')).toBe('invalid_request');
  });

  test.each(['nonsense', 'a"b', 'device:read a"b', 'x'.repeat(8192)])(
    'rejects a scope that is unknown or malformed (%#)',
    async (scope) => {
      const reply = await visit(`${good}&scope=${encodeURIComponent(scope)}`);
      expect(reply.location?.searchParams.get('error')).toBe('invalid_scope');
    },
  );

  test('rejects a scope that the client is not registered for', async () => {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: odd.clientId,
      redirect_uri: 'https://odd.example/one',
      scope: 'device:write',
    });
    expect((await visit(String(query))).location?.searchParams.get('error')).toBe('invalid_scope');
  });

  test('grants a request without scope all scopes of the client', async () => {
    const landing = await authorizeAsUser(authorizationUrl(issuer), alice);
    expect(landing.searchParams.get('code')).toMatch(/^[\w-]{43}$/);
  });

  test('requires the redirect URI from a client with two, and not from a client with one', async () => {
    expect((await visit('response_type=code&client_id=web')).status).toBe(302);
    expectPage(await visit(`response_type=code&client_id=${encodeURIComponent(odd.clientId)}`));
  });

  test('adds no state if the request has none', async () => {
    const landing = await authorizeAsUser(authorizationUrl(issuer), alice);
    expect(landing.searchParams.has('state')).toBe(false);
  });

  test('returns the state unchanged', async () => {
    const state = 'a b+c/ü?&=#%';
    const landing = await authorizeAsUser(authorizationUrl(issuer, { state }), alice);
    expect(landing.searchParams.get('state')).toBe(state);
    const raw = /[?&]state=([^&]*)/.exec(landing.search)?.[1] ?? '';
    expect(decodeURIComponent(raw)).toBe(state);
  });

  test.each(['web_message', 'jwt', 'nonsense'])(
    'rejects response_mode=%s, and does not advertise it',
    async (mode) => {
      const reply = await visit(`${good}&response_mode=${mode}`);
      expect(['invalid_request', 'unsupported_response_mode']).toContain(
        reply.location?.searchParams.get('error') ?? 'page',
      );
      const discovery = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
      expect(discovery).toMatchObject({
        response_modes_supported: ['form_post', 'fragment', 'query'],
      });
    },
  );

  test('treats a POST as the same GET', async () => {
    const reply = await fetch(`${issuer}/authorize`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(good),
    });
    expect(reply.status).toBe(303);
    expect(reply.headers.get('set-cookie')).toBeNull();
    const next = new URL(reply.headers.get('location') ?? '', issuer);
    expect((await visit(next.search.slice(1))).location?.pathname).toMatch(/^\/sign-in\//);
    const twice = await fetch(`${issuer}/authorize`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `${good}&client_id=other`,
    });
    expectPage(await visit(new URL(twice.headers.get('location') ?? '', issuer).search.slice(1)));
  });

  test.each(['PUT', 'DELETE', 'PATCH'])('rejects %s and sets no cookie', async (method) => {
    const reply = await fetch(`${issuer}/authorize?${good}`, { method, redirect: 'manual' });
    expect([404, 405]).toContain(reply.status);
    expect(reply.headers.get('set-cookie')).toBeNull();
  });

  test('does not let scripts of other origins read it', async () => {
    for (const method of ['GET', 'OPTIONS']) {
      const reply = await fetch(`${issuer}/authorize?${good}`, {
        method,
        redirect: 'manual',
        headers: { origin: browserApp.origin, 'access-control-request-method': 'GET' },
      });
      expect(reply.headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  test('rejects a URL of 20 KB and one with 1,001 parameters, and continues to run', async () => {
    const long = await visit(`${good}&x=${'y'.repeat(20 * 1024)}`);
    expect([400, 414, 431]).toContain(long.status);
    const many = await visit(
      `${good}&${Array.from({ length: 1001 }, (_, i) => `p${i}=1`).join('&')}`,
    );
    expect([302, 400, 414, 431]).toContain(many.status);
    expect((await visit(good)).status).toBe(302);
  });

  test('answers prompt=none without a session with login_required', async () => {
    const reply = await visit(`${good}&scope=openid&prompt=none`);
    expect(reply.location?.searchParams.get('error')).toBe('login_required');
  });

  test('builds every URL from the issuer, whatever Host and X-Forwarded-Host contain', async () => {
    const forged = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    const visitor = createPageVisitor();
    const first = await visitor.get(authorizationUrl(issuer), forged);
    expect(first.location).toBe(new URL(first.location ?? '', issuer).href);
    const landing = await authorizeAsUser(authorizationUrl(issuer), alice, visitor);
    expect(landing.origin).toBe('https://app.example');
    const discovery = await fetch(`${issuer}/.well-known/openid-configuration`, {
      headers: forged,
    });
    expect(JSON.stringify(await discovery.json())).not.toContain('evil.example');
  });

  test('redirects a GET with 302 and a form with 303, never 307', async () => {
    const visitor = createPageVisitor();
    const toSignIn = await visitor.get(authorizationUrl(issuer));
    expect(toSignIn.status).toBe(302);
    const form = await visitor.get(toSignIn.location ?? '');
    const posted = await visitor.submit(form, alice);
    expect(posted.status).toBe(303);
    const toConsent = await visitor.get(posted.location ?? '');
    expect(toConsent.status).toBe(302);
    const decided = await visitor.submit(await visitor.get(toConsent.location ?? ''), {
      decision: 'allow',
    });
    expect(decided.status).toBe(303);
    const answer = await visitor.get(decided.location ?? '');
    expect(answer.status).toBe(302);
    expect(new URL(answer.location ?? '').searchParams.has('code')).toBe(true);
  });

  test('protects every page against caching, framing, sniffing and third parties', async () => {
    const visitor = createPageVisitor();
    const toSignIn = await visitor.get(authorizationUrl(issuer));
    const pages = [
      await visitor.get(toSignIn.location ?? ''),
      await visitor.get(`${issuer}/authorize?client_id=nobody`),
      await visitor.get(`${issuer}/no-such-page`),
      await visitor.get(`${issuer}/sign-in/unknown`),
    ];
    for (const { headers, body } of pages) {
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe-inline');
      expect(body).not.toMatch(/(src|href)="(https?:)?\/\//);
      expect(body).not.toMatch(/<script|style=/);
    }
  });

  test('serves its stylesheet from its own origin', async () => {
    const reply = await fetch(`${issuer}/assets/pages.css`);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toContain('text/css');
  });

  test('has one exact path and one method', async () => {
    for (const path of ['/AUTHORIZE', '/authorize/', '//authorize']) {
      const reply = await fetch(`${issuer}${path}?${good}`, { redirect: 'manual' });
      expect([400, 404]).toContain(reply.status);
      expect(reply.headers.get('set-cookie')).toBeNull();
    }
    const put = await fetch(`${issuer}/authorize?${good}`, { method: 'PUT', redirect: 'manual' });
    expect([404, 405]).toContain(put.status);
  });
});

describe('the sign-in', () => {
  test('shows the same for a wrong password and an unknown user, and keeps the typed username', async () => {
    const visitor = createPageVisitor();
    const toSignIn = await visitor.get(authorizationUrl(issuer));
    const form = await visitor.get(toSignIn.location ?? '');
    const bodies = [];
    for (const username of ['alice', 'nobody', '"><script>']) {
      const reply = await failToSignIn(visitor, form, { username, password: 'wrong password' });
      expect(reply.body).not.toContain('<script');
      bodies.push(reply.body.replace(/ value="[^"]*"/g, ''));
    }
    expect(new Set(bodies).size).toBe(1);
  });

  test('rejects a form without its token or with the token of another interaction', async () => {
    const [one, other] = [createPageVisitor(), createPageVisitor()];
    const formOf = async (visitor: typeof one) =>
      visitor.get((await visitor.get(authorizationUrl(issuer))).location ?? '');
    const form = await formOf(one);
    const foreign = await formOf(other);
    const foreignToken = /name="csrf" value="([^"]*)"/.exec(foreign.body)?.[1] ?? '';
    for (const csrf of ['', foreignToken]) {
      const reply = await one.submit(form, { ...alice, csrf });
      expect(reply.status).toBe(403);
      expect(reply.location).toBeUndefined();
    }
  });

  test('rejects a decision without its token or with the token of another interaction', async () => {
    const [one, other] = [createPageVisitor(), createPageVisitor()];
    const consentOf = async (visitor: typeof one) => {
      let page = await visitor.get(authorizationUrl(issuer));
      while (!page.body.includes('name="decision"')) {
        page = page.location ? await visitor.get(page.location) : await visitor.submit(page, alice);
      }
      return page;
    };
    const form = await consentOf(one);
    const ofAnotherTab = await consentOf(one);
    const foreign = await consentOf(other);
    const [tabToken = '', foreignToken = ''] = [ofAnotherTab, foreign].map(
      ({ body }) => /name="csrf" value="([^"]+)"/.exec(body)?.[1],
    );
    for (const csrf of ['', tabToken, foreignToken]) {
      for (const decision of ['allow', 'deny']) {
        const reply = await one.submit(form, { decision, csrf });
        expect([reply.status, reply.location]).toEqual([403, undefined]);
      }
    }
    expect((await one.submit(form, { decision: 'allow' })).status).toBe(303);
  });

  test('accepts no decision while the user still has to sign in', async () => {
    const visitor = createPageVisitor();
    const toSignIn = await visitor.get(authorizationUrl(issuer));
    const form = await visitor.get(toSignIn.location ?? '');
    const decision = { ...form, body: form.body.replace('/credentials"', '/decision"') };
    for (const answer of ['allow', 'deny']) {
      const reply = await visitor.submit(decision, { decision: answer });
      expect([reply.status, reply.location]).toEqual([403, undefined]);
    }
  });

  test('does not open in a browser that did not start it', async () => {
    const victim = createPageVisitor();
    const attacker = createPageVisitor();
    const toSignIn = await attacker.get(authorizationUrl(issuer));
    const form = await attacker.get(toSignIn.location ?? '');
    expect((await victim.get(form.url)).status).toBe(400);
    expect((await victim.submit(form, alice)).status).toBe(400);
    const resume = form.url.replace('/sign-in/', '/authorize/');
    const resumed = await victim.get(resume);
    expect(resumed.status).toBe(400);
    expect(resumed.location).toBeUndefined();
  });

  test('does not open one interaction with the cookie of another', async () => {
    const visitor = createPageVisitor();
    const addresses: string[] = [];
    for (let tab = 0; tab < 2; tab += 1) {
      addresses.push((await visitor.get(authorizationUrl(issuer))).location ?? '');
    }
    const [own = '', other = ''] = addresses;
    const path = new URL(own).pathname;
    const cookie = ['interaction', 'interaction.sig', 'sign-in.0']
      .map((name) => `${name}=${visitor.cookies.get(`${name}|${path}`)}`)
      .join('; ');
    const statuses = [];
    for (const address of [own, `${own}/account`, other, `${other}/account`]) {
      statuses.push((await fetch(address, { headers: { cookie } })).status);
    }
    expect(statuses).toEqual([200, 200, 400, 400]);
  });

  test('returns no code to a resumed request without a submitted form', async () => {
    const visitor = createPageVisitor();
    const toSignIn = await visitor.get(authorizationUrl(issuer));
    const resume = (toSignIn.location ?? '').replace('/sign-in/', '/authorize/');
    const reply = await visitor.get(resume);
    expect(reply.location ?? '').not.toContain('code=');
  });

  test('gives the session a new id at sign-in', async () => {
    const visitor = createPageVisitor();
    await authorizeAsUser(authorizationUrl(issuer), alice, visitor);
    const before = visitor.cookies.get('session|/');
    await authorizeAsUser(authorizationUrl(issuer, { prompt: 'login' }), alice, visitor);
    expect(before).toBeDefined();
    expect(visitor.cookies.get('session|/')).not.toBe(before);
  });

  test('grants only the requested scope, whatever the form contains', async () => {
    const visitor = createPageVisitor();
    const url = authorizationUrl(issuer, { scope: 'device:read' });
    let page = await visitor.get((await visitor.get(url)).location ?? '');
    page = await visitor.get((await visitor.submit(page, alice)).location ?? '');
    page = await visitor.get(page.location ?? '');
    expect(page.body).toContain('See your devices');
    expect(page.body).not.toContain('Add devices');
    const done = await visitor.submit(page, {
      decision: 'allow',
      scope: 'device:write',
      client_id: odd.clientId,
      accountId: 'somebody-else',
    });
    const landing = new URL((await visitor.get(done.location ?? '')).location ?? '');
    const reply = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization: basic(web.clientId, web.secureKey) },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: landing.searchParams.get('code') ?? '',
        redirect_uri: web.redirectUri,
      }),
    });
    expect(await reply.json()).toMatchObject({ scope: 'device:read' });
  });

  test('redirects to the application with access_denied if the user denies', async () => {
    const visitor = createPageVisitor();
    let page = await visitor.get((await visitor.get(authorizationUrl(issuer))).location ?? '');
    page = await visitor.get((await visitor.submit(page, alice)).location ?? '');
    page = await visitor.submit(await visitor.get(page.location ?? ''), { decision: 'deny' });
    const landing = new URL((await visitor.get(page.location ?? '')).location ?? '');
    expect(landing.searchParams.get('error')).toBe('access_denied');
  });

  test('is in Chinese if the browser prefers it', async () => {
    const visitor = createPageVisitor();
    const toSignIn = await visitor.get(authorizationUrl(issuer));
    const page = await visitor.get(toSignIn.location ?? '', {
      'accept-language': 'zh-CN,en;q=0.5',
    });
    expect(page.body).toContain('<html lang="zh-CN">');
    expect(page.body).toContain('登录');
  });

  test('logs no password, cookie, code or interaction id', async () => {
    const visitor = createPageVisitor();
    const landing = await authorizeAsUser(authorizationUrl(issuer), alice, visitor);
    const secrets = [
      alice.password,
      web.secureKey,
      landing.searchParams.get('code') ?? '',
      ...visitor.cookies.values(),
    ];
    const output = await system.outputWith('"operation":"sign-in"');
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(8);
      expect(output).not.toContain(secret);
    }
  });
});
