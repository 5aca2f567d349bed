import { openIdentity } from '@gatehouse/identity';
import { createStore, type Store } from '@gatehouse/store';
import { authorizeAsUser, createPageVisitor, startConstellation } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, requestToken, web } from './fixtures.ts';
import { bob, bootstrap, implicitApp, implicitUrl, introspect, rp } from './page-fixtures.ts';

const system = await startSystem({ engine: 'sqlite', bootstrap, apps: ['authorization-server'] });
const issuer = system.authorizationServerUrl;

async function visit(url: string, headers: Record<string, string> = {}) {
  const reply = await fetch(url, { redirect: 'manual', headers });
  const location = reply.headers.get('location');
  const landing = location === null ? undefined : new URL(location, issuer);
  const body = await reply.text();
  const answer = new URLSearchParams(landing?.hash.slice(1));
  return { status: reply.status, headers: reply.headers, landing, body, answer };
}

function expectPage(reply: Awaited<ReturnType<typeof visit>>) {
  expect([reply.status, reply.landing]).toEqual([400, undefined]);
  expect(reply.body).toContain('<h1>');
}

async function implicitToken(
  parameters: Record<string, string> = {},
  user: { readonly username: string; readonly password: string } = alice,
) {
  const landing = await authorizeAsUser(implicitUrl(issuer, parameters), user);
  return { landing, answer: new URLSearchParams(landing.hash.slice(1)) };
}

describe('the implicit flow', () => {
  test('returns a token in the fragment, with the state unchanged and nothing in the query', async () => {
    const state = 'a b+c/ü?&=#%';
    const { landing, answer } = await implicitToken({ state });
    expect(landing.search).toBe('');
    expect(Object.fromEntries(answer)).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: '600',
      scope: 'device:read device:log openid profile',
      state,
      iss: issuer,
    });
  });

  test('rejects a client that is not registered for it, in the fragment', async () => {
    const { status, landing, answer } = await visit(
      authorizationUrl(issuer, { response_type: 'token', state: 's1' }),
    );
    expect([status, landing?.search]).toEqual([302, '']);
    expect(Object.fromEntries(answer)).toMatchObject({ error: 'unauthorized_client', state: 's1' });
  });

  test('returns no code to a client that has only the implicit flow', async () => {
    const { landing } = await visit(implicitUrl(issuer, { response_type: 'code' }));
    expect(landing?.searchParams.get('error')).toBe('unauthorized_client');
  });

  test.each(['query', 'web_message', 'jwt', 'fragment.jwt'])(
    'rejects response_mode=%s',
    async (mode) => {
      const { status, landing, body } = await visit(implicitUrl(issuer, { response_mode: mode }));
      expect(status).toBe(302);
      expect(landing?.href).toMatch(/error=(invalid_request|unsupported_response_mode)/);
      expect(landing?.href).not.toContain('access_token');
      expect(body).not.toContain('<form');
    },
  );

  test('requires a sign-in and the consent of this user for this application', async () => {
    const visitor = createPageVisitor();
    const toSignIn = await visitor.get(implicitUrl(issuer));
    expect(toSignIn.location).toContain('/sign-in/');
    const resumed = await visitor.get(
      (toSignIn.location ?? '').replace('/sign-in/', '/authorize/'),
    );
    expect(resumed.location ?? '').not.toContain('access_token');
    // The interaction belongs to another browser, so its address does not open in this one.
    const other = createPageVisitor();
    await authorizeAsUser(implicitUrl(issuer), bob, other);
    expect((await other.get(toSignIn.location ?? '')).status).toBe(400);
    // The user is signed in, but never allowed this application access.
    const signedIn = createPageVisitor();
    await authorizeAsUser(authorizationUrl(issuer), alice, signedIn);
    const consent = await signedIn.get((await signedIn.get(implicitUrl(issuer))).location ?? '');
    expect(consent.body).toContain('Implicit application');
    expect(consent.body).toContain('name="decision"');
  });

  test('issues a token for 600 s, with the requested scope only', async () => {
    const { answer } = await implicitToken({ scope: 'device:read' });
    expect([answer.get('expires_in'), answer.get('scope') ?? 'device:read']).toEqual([
      '600',
      'device:read',
    ]);
    const told: unknown = await introspect(issuer, answer.get('access_token') ?? '');
    const { exp, iat, scope } = told as { exp: number; iat: number; scope: string };
    expect([exp - iat, scope]).toEqual([600, 'device:read']);
  });

  test('returns no refresh token, and the token is no refresh token', async () => {
    const { answer } = await implicitToken();
    expect(answer.has('refresh_token')).toBe(false);
    const { body } = await requestToken(issuer, {
      grant_type: 'refresh_token',
      refresh_token: answer.get('access_token') ?? '',
    });
    expect(body.error).toBe('invalid_grant');
  });

  test.each([
    ['application', () => `client:${implicitApp.clientId}`],
    ['user', async (store: Store) => `user:${await store.get('username:bob')}`],
  ])('is invalid within 100 ms after its %s is disabled', async (_what, keyOf) => {
    const { answer } = await implicitToken({}, bob);
    const token = answer.get('access_token') ?? '';
    const store = createStore(system.storeUrl);
    const { verifyAccessToken } = openIdentity({ store, masterKey: system.masterKey });
    const key = await keyOf(store);
    const record = (await store.get(key)) ?? '';
    try {
      expect(await verifyAccessToken(token)).toMatchObject({ clientId: implicitApp.clientId });
      await store.set(key, JSON.stringify({ ...JSON.parse(record), enabled: false }));
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await verifyAccessToken(token)).toBeUndefined();
    } finally {
      await store.set(key, record);
      await store.close();
    }
  });

  test('gives errors of the code flow their own fragment', async () => {
    const fromAnotherSite = { 'user-agent': 'Mozilla/5.0', 'sec-fetch-site': 'cross-site' };
    const errors = [
      authorizationUrl(issuer, { scope: 'nonsense', state: 's' }),
      authorizationUrl(issuer, { response_type: 'foo' }),
      authorizationUrl(issuer, { prompt: 'none', scope: 'openid' }),
    ];
    for (const url of errors) {
      const { headers } = await visit(url, fromAnotherSite);
      expect(headers.get('location')).toMatch(/[?&]error=[^#]*#_$/);
    }
    const denied = createPageVisitor();
    let page = await denied.get((await denied.get(authorizationUrl(issuer))).location ?? '');
    page = await denied.submit(page, alice);
    page = await denied.get((await denied.get(page.location ?? '')).location ?? '');
    page = await denied.submit(page, { decision: 'deny' });
    const refusal = await denied.get(page.location ?? '', fromAnotherSite);
    expect(refusal.headers.get('location')).toMatch(/access_denied.*#_$/);
    const landing = await authorizeAsUser(authorizationUrl(issuer), alice);
    expect(landing.href).not.toContain('#');
  });

  test('is unavailable under the strict profile', async () => {
    const strict = await startConstellation({
      engine: 'sqlite',
      bootstrap,
      apps: ['authorization-server'],
      environment: { SECURITY_PROFILE: 'strict' },
    });
    try {
      const server = strict.authorizationServerUrl;
      for (const client of [{}, { client_id: rp.clientId, redirect_uri: rp.redirectUris[1] }]) {
        const { landing, body } = await visit(implicitUrl(server, client));
        const refusal = landing?.href ?? body;
        expect(refusal).toMatch(/unsupported_response_type|invalid_client|unauthorized_client/);
        expect(refusal).not.toContain('access_token');
      }
      const { landing } = await visit(
        authorizationUrl(server, { response_type: 'token', client_id: web.clientId }),
      );
      expect(landing?.href).toContain('unsupported_response_type');
      const metadata = await fetch(`${server}/.well-known/openid-configuration`);
      const told = (await metadata.json()) as Record<string, string[]>;
      expect(told.response_types_supported).toEqual(['code']);
      expect(told.grant_types_supported).not.toContain('implicit');
    } finally {
      await strict.stop();
    }
  });
});

/** The rules of authorization requests, for the implicit flow. */
describe('the authorization endpoint with response_type=token', () => {
  const good = () => implicitUrl(issuer, { state: 's1' });
  const redirect = `redirect_uri=${encodeURIComponent(implicitApp.redirectUri)}`;

  test('answers a missing or unknown client with a page', async () => {
    expectPage(await visit(`${issuer}/authorize?response_type=token&${redirect}`));
    expectPage(await visit(`${issuer}/authorize?response_type=token&client_id=nobody&${redirect}`));
  });

  test('never puts markup from a parameter into a page', async () => {
    const markup = '"><script>alert(1)</script>';
    for (const parameters of [
      { client_id: markup },
      { redirect_uri: markup },
      { redirect_uri: 'https://evil.example', scope: markup },
    ]) {
      const reply = await visit(implicitUrl(issuer, parameters as Record<string, string>));
      expectPage(reply);
      expect(reply.body).not.toContain('<script');
    }
  });

  test.each(['client_id', 'redirect_uri'])('answers a second %s with a page', async (name) => {
    const value = new URL(good()).searchParams.get(name) ?? '';
    for (const second of [value, 'other']) {
      expectPage(await visit(`${good()}&${name}=${encodeURIComponent(second)}`));
    }
  });

  test.each(['state', 'scope', 'response_type'])('rejects a second %s', async (name) => {
    const { answer, landing } = await visit(`${good()}&scope=openid&${name}=other`);
    const error = answer.get('error') ?? landing?.searchParams.get('error');
    expect(error).toBe('invalid_request');
  });

  test.each(['nonsense', 'device:write', 'a"b', 'a\\b'])('rejects scope %s', async (scope) => {
    const { answer } = await visit(implicitUrl(issuer, { scope }));
    expect(answer.get('error')).toBe('invalid_scope');
  });

  test('adds no state if the request has none', async () => {
    expect((await implicitToken()).answer.has('state')).toBe(false);
  });

  test('answers prompt=none without a session in the fragment', async () => {
    const { answer } = await visit(implicitUrl(issuer, { prompt: 'none', scope: 'openid' }));
    expect(answer.get('error')).toBe('login_required');
  });

  test('rejects other methods and other origins', async () => {
    const put = await fetch(good(), { method: 'PUT', redirect: 'manual' });
    expect([404, 405]).toContain(put.status);
    expect(put.headers.get('set-cookie')).toBeNull();
    const { headers } = await visit(good(), { origin: 'https://evil.example' });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  test('redirects a GET with 302 to the issuer, whatever Host contains', async () => {
    const { status, landing } = await visit(good(), {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
    });
    expect([status, landing?.origin]).toEqual([302, issuer]);
  });
});

/** A redirect URI must equal a registered one exactly. */
describe.each(['code', 'token'])('redirect URIs with response_type=%s', (type) => {
  const url = (redirectUri: string, parameters: Record<string, string> = {}) =>
    authorizationUrl(issuer, {
      response_type: type,
      client_id: rp.clientId,
      redirect_uri: redirectUri,
      ...parameters,
    });

  test.each([
    'https://rp.example/cb2X',
    'https://rp.example/cb2/evil',
    'https://rp.example/cb2/../evil',
    'https://rp.example/cb2/%2e%2e/evil',
    'https://rp.example/%63b2',
    'https://rp.example.evil.example/cb2',
    'https://evil-rp.example/cb2',
    'https://rp.example./cb2',
    'https://rp.example@evil.example/cb2',
    'https://user:pw@rp.example/cb2',
    'https://evil.example\\@rp.example/cb2',
    'https:\\\\rp.example\\cb2',
    'https:/rp.example/cb2',
    'HTTPS://RP.EXAMPLE/cb2',
    'https://rp.example/CB2',
    'https://rp.example/cb2/',
    'https://rp.example/cb2?',
    'https://rp.example/cb2#',
    'https://rp.example/cb2#frag',
    'https://rp.example/cb2?y=1',
    'https://rp.example/cb?x=1&y=1',
    'https://rp.example/cb?y=1&x=1',
    'https://rp.example/cb?x=2',
    'https://rp.example/cb',
    'https://rp.example:443/cb2',
    'https://rp.example:8443/cb2',
    'http://rp.example/cb2',
    'javascript:alert(1)//',
    'data:text/html,<script>1</script>',
    '//evil.example',
    '',
    '/cb2',
    'https://rр.example/cb2',
    'https://xn--r-vtb.example/cb2',
    'https://rp\u200b.example/cb2',
    'https://rp．example/cb2',
    ' https://rp.example/cb2',
    'https://rp.example/cb2 ',
    'https://rp.example/cb2\t',
    'https://rp.example/cb2\n',
    'https://rp.example/cb2\0',
    'https://rp.example/cb2\r\nLocation: https://evil.example',
  ])('answers %j with a page and no redirect', async (variant) => {
    const reply = await visit(url(variant));
    expect([reply.status, reply.landing]).toEqual([400, undefined]);
    expect(reply.body).not.toContain('<script');
  });

  test('are optional for a client with one, and required from a client with two', async () => {
    const two = `${issuer}/authorize?response_type=${type}&client_id=${rp.clientId}`;
    expectPage(await visit(two));
    const clientId = type === 'code' ? web.clientId : implicitApp.clientId;
    const one = await visit(`${issuer}/authorize?response_type=${type}&client_id=${clientId}`);
    expect(one.landing?.pathname).toMatch(/^\/sign-in\//);
  });

  test('keep their registered query', async () => {
    const landing = await authorizeAsUser(url(rp.redirectUris[0]), alice);
    const expected =
      type === 'code'
        ? /^https:\/\/rp\.example\/cb\?x=1&code=[^#]*$/
        : /^https:\/\/rp\.example\/cb\?x=1#access_token=/;
    expect(landing.href).toMatch(expected);
  });

  test('get a page if redirect URI and scope are both wrong', async () => {
    expectPage(await visit(url('https://evil.example/', { scope: 'nonsense' })));
  });
});
