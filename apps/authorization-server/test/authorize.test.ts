import { createPageVisitor, newPkce, type PageVisitor, type VisitedPage } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import {
  alice,
  bob,
  browserApp,
  carol,
  firstParty,
  full,
  implicitApp,
  noRefresh,
  odd,
  rp,
  scopeless,
  web,
} from './installation.ts';
import { as, asWeb, type Fields, outcome, refreshing, startServers, type User } from './server.ts';

const system = await startServers();
const { issuer, authorize, authorizationUrl, get, land, newCode, post, redeem, token } =
  system.first;
const { open, openConsent, openSignIn, userinfo, introspect, tokensFor } = system.first;

/** The parameters of an application, for `response_type=code` or `token`. */
const of = ({ clientId, redirectUri }: { clientId: string; redirectUri: string }): Fields => ({
  client_id: clientId,
  redirect_uri: redirectUri,
});
const ofType: Readonly<Record<string, Fields>> = {
  code: { state: 's1' },
  token: { ...of(implicitApp), response_type: 'token', state: 's1' },
};

/** What the application receives: the query or the fragment, with their sign. */
function received({ location = '' }: Pick<VisitedPage, 'location'>) {
  const { origin, search, hash } = new URL(location, issuer);
  const text = hash === '' ? search : hash;
  return {
    origin,
    sign: text.slice(0, 1),
    ...Object.fromEntries(new URLSearchParams(text.slice(1))),
  };
}

function expectPage({ status, location, headers, body }: VisitedPage) {
  expect([status, location]).toEqual([400, undefined]);
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(body).toContain('<h1>');
  expect(body).not.toMatch(/<script|<form(?! method="post" action="\/language")/);
}

const markup = '"><script>alert(1)</script>';

describe.each(['code', 'token'])('the authorization endpoint with response_type=%s', (type) => {
  const parameters = ofType[type] ?? {};
  const good = authorizationUrl(parameters);
  const sign = type === 'code' ? '?' : '#';

  test.each<[string, Fields]>([
    ['an unknown client', { client_id: 'nobody' }],
    ['an empty client', { client_id: '' }],
    ['markup as client', { client_id: markup }],
    ['markup as redirect URI', { redirect_uri: markup }],
    [
      'a foreign redirect URI and a wrong scope',
      { redirect_uri: 'https://evil.example/', scope: markup },
    ],
    [
      'a foreign redirect URI',
      { redirect_uri: 'https://evil.example/', response_mode: 'form_post' },
    ],
  ])('answers %s with a page', async (_what, change) => {
    expectPage(await authorize({ ...parameters, ...change }));
  });

  test.each(['client_id', 'redirect_uri'])('answers a second %s with a page', async (name) => {
    for (const second of [new URL(good).searchParams.get(name) ?? '', 'other']) {
      expectPage(await get(`${good}&${name}=${encodeURIComponent(second)}`));
    }
  });

  test.each(['state', 'scope', 'response_type'])('rejects a second %s', async (name) => {
    for (const second of [new URL(good).searchParams.get(name) ?? 'openid', 'other']) {
      const reply = received(
        await get(`${good}&scope=openid&${name}=${encodeURIComponent(second)}`),
      );
      expect(reply).toMatchObject({ error: 'invalid_request' });
    }
  });

  test.each<[string, Fields]>([
    ['login_required', { prompt: 'none', scope: 'openid' }],
    ['invalid_scope', { scope: 'nonsense' }],
    ['invalid_scope', { scope: 'device:read a"b' }],
    ['invalid_scope', { scope: 'a\\b' }],
    ['invalid_scope', { scope: 'x'.repeat(8192) }],
  ])('redirects with %s and the state: %j', async (error, change) => {
    const reply = await authorize({ ...parameters, ...change });
    expect(reply.status).toBe(302);
    const origin = new URL(new URL(good).searchParams.get('redirect_uri') ?? '').origin;
    expect(received(reply)).toMatchObject({ origin, sign, error, state: 's1', iss: issuer });
  });

  test('returns the state unchanged, and adds none', async () => {
    const state = 'a b+c/ü?&=#%';
    const landing = await land({ ...parameters, state });
    expect(received({ location: landing.href })).toMatchObject({ sign, state });
    // Not only as form decoding reads it, which takes a plus for a blank.
    expect(decodeURIComponent(/state=([^&]*)/.exec(landing.href)?.[1] ?? '')).toBe(state);
    const { state: _none, ...without } = parameters;
    expect(received({ location: (await land(without)).href })).not.toHaveProperty('state');
  });

  test('keeps the registered query of a redirect URI', async () => {
    const [redirect_uri] = rp.redirectUris;
    const landing = await land({ response_type: type, client_id: rp.clientId, redirect_uri });
    const expected = type === 'code' ? '&code=' : '#access_token=';
    expect(landing.href.startsWith(redirect_uri + expected)).toBe(true);
  });

  test('needs no redirect URI from a client with one, and one from a client with two', async () => {
    const without = (clientId = '') =>
      get(`/authorize?${new URLSearchParams({ response_type: type, client_id: clientId })}`);
    expectPage(await without(rp.clientId));
    const { location } = await without(type === 'code' ? web.clientId : implicitApp.clientId);
    expect(location).toContain('/sign-in/');
  });
});

test.each<[string, Fields]>([
  ['unsupported_response_type', { response_type: 'foo' }],
  ['unsupported_response_type', { response_type: 'code token', nonce: 'n' }],
  ['unsupported_response_type', { response_type: 'token code', nonce: 'n' }],
  ['unauthorized_client', { response_type: 'token', nonce: 'n' }],
  ['unauthorized_client', { response_type: 'id_token', nonce: 'n' }],
  ['unauthorized_client', { response_type: 'id_token token', nonce: 'n' }],
  ['unauthorized_client', of(implicitApp)],
  [
    'invalid_scope',
    { client_id: odd.clientId, redirect_uri: 'https://odd.example/one', scope: 'device:write' },
  ],
  ['invalid_scope', { ...of(implicitApp), response_type: 'token', scope: 'device:write' }],
  ['invalid_scope', { ...of(scopeless) }],
  ['invalid_scope', { ...of(noRefresh), scope: 'offline_access' }],
  // Unknown and unsupported modes, which would put a reply where others can read it.
  ['unsupported_response_mode', { response_mode: 'web_message' }],
  ['unsupported_response_mode', { response_mode: 'jwt' }],
  ['unsupported_response_mode', { response_mode: 'nonsense' }],
  ['invalid_request', { ...of(implicitApp), response_type: 'token', response_mode: 'query' }],
  [
    'unsupported_response_mode',
    { ...of(implicitApp), response_type: 'token', response_mode: 'fragment.jwt' },
  ],
  // PKCE: S256 only, with challenge and method, and required from a public client.
  ['invalid_request', of(browserApp)],
  ['invalid_request', { code_challenge: 'c'.repeat(43) }],
  ['invalid_request', { ...of(browserApp), code_challenge: 'c'.repeat(43) }],
  ['invalid_request', { code_challenge: 'c'.repeat(43), code_challenge_method: 'plain' }],
  [
    'invalid_request',
    { ...of(browserApp), code_challenge: 'c'.repeat(43), code_challenge_method: 'plain' },
  ],
  ['invalid_request', { code_challenge_method: 'S256' }],
  ['invalid_request', { claims: '{', scope: 'openid' }],
  ['invalid_request', { claims: '{"userinfo":1}', scope: 'openid' }],
  [
    'unmet_authentication_requirements',
    { claims: '{"id_token":{"acr":{"essential":true,"value":"x"}}}', scope: 'openid' },
  ],
])('an authorization request is rejected with %s and no token: %j', async (error, parameters) => {
  const reply = await authorize(parameters);
  expect(reply.status).toBe(302);
  expect(received(reply)).toMatchObject({ error });
  expect(reply.location).not.toMatch(/access_token|id_token=/);
});

test('a request without response_type names the missing parameter', async () => {
  const reply = received(await get(authorizationUrl().replace('response_type=code&', '')));
  expect(reply).toMatchObject({ sign: '?', error: 'invalid_request' });
  expect(Reflect.get(reply, 'error_description')).toContain('response_type');
});

test('a POST is the same as a GET, and sets no cookie', async () => {
  const body = new URL(authorizationUrl({ state: 's' })).search.slice(1);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const { status, headers } = await post('/authorize', body, form);
  expect([status, headers.get('set-cookie')]).toEqual([303, null]);
  expect((await get(headers.get('location') ?? '')).location).toContain('/sign-in/');
  const twice = await post('/authorize', `${body}&client_id=other`, form);
  expectPage(await get(twice.headers.get('location') ?? ''));
});

test('scripts of other origins cannot read the authorization endpoint', async () => {
  for (const method of ['GET', 'OPTIONS']) {
    const headers = { origin: browserApp.origin, 'access-control-request-method': 'GET' };
    const reply = await fetch(authorizationUrl(), { method, redirect: 'manual', headers });
    expect(reply.headers.get('access-control-allow-origin')).toBeNull();
  }
});

test('a URL of 20 KB and one with 1,001 parameters do no harm', async () => {
  expect([400, 414, 431]).toContain((await authorize({ x: 'y'.repeat(20 * 1024) })).status);
  const many = Array.from({ length: 1001 }, (_, i) => [`p${i}`, '1']);
  expect([302, 400, 414, 431]).toContain((await authorize(Object.fromEntries(many))).status);
  expect((await authorize({})).status).toBe(302);
});

test('errors of the code flow end with an empty fragment in a browser that another site sent here', async () => {
  const browser = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };
  const from = (site: string) => ({ ...browser, 'sec-fetch-site': site });
  const errors = [{ prompt: 'none' }, { scope: 'nonsense' }, { response_type: 'foo' }];
  const endings = [
    [browser, /[?&]error=[^#]*#_$/],
    [from('cross-site'), /[?&]error=[^#]*#_$/],
    [from('same-site'), /[?&]error=[^#]*#_$/],
    [from('same-origin'), /[?&]error=[^#]*$/],
    [from('none'), /[?&]error=[^#]*$/],
    [{ 'user-agent': 'curl/8' }, /[?&]error=[^#]*$/],
  ] as const;
  for (const [headers, ending] of endings) {
    for (const parameters of errors) {
      expect((await authorize(parameters, headers)).location).toMatch(ending);
    }
  }
  const visitor = createPageVisitor();
  const denied = await visitor.submit(await openConsent(visitor), { decision: 'deny' });
  const refusal = await visitor.get(denied.location ?? '', from('cross-site'));
  expect(refusal.location).toMatch(/access_denied.*#_$/);
  expect((await land()).href).not.toContain('#');
});

/** A redirect URI must equal a registered one exactly. */
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
])('the redirect URI %j gets a page and no redirect', async (redirect_uri) => {
  for (const response_type of ['code', 'token']) {
    expectPage(await authorize({ response_type, client_id: rp.clientId, redirect_uri }));
  }
});

describe('the implicit flow', () => {
  const implicit = ofType.token ?? {};

  test('returns a token for 600 s in the fragment, which is no refresh token', async () => {
    const landing = await land({ ...implicit, scope: 'device:read' });
    expect(landing.search).toBe('');
    const { origin: _o, sign: _s, ...answer } = received({ location: landing.href });
    expect(answer).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: '600',
      scope: 'device:read',
      state: 's1',
      iss: issuer,
    });
    const accessToken = String(Reflect.get(answer, 'access_token'));
    const { exp, iat, scope } = await introspect(accessToken);
    expect([exp - iat, scope]).toEqual([600, 'device:read']);
    expect(outcome(await token(refreshing(accessToken)))).toEqual([400, 'invalid_grant']);
    const all = received({ location: (await land(implicit)).href });
    expect(all).toMatchObject({ scope: 'device:read device:log openid profile' });
  });

  test('requires a sign-in and the consent of this user for this application', async () => {
    const visitor = createPageVisitor();
    const { location = '' } = await visitor.get(authorizationUrl(implicit));
    const resumed = await visitor.get(location.replace('/sign-in/', '/authorize/'));
    expect(resumed.location ?? '').not.toContain('access_token');
    // The user is signed in, but never allowed this application access.
    const signedIn = createPageVisitor();
    await land({}, undefined, signedIn);
    const consent = await openConsent(signedIn, implicit);
    expect(consent.body).toContain('Implicit application');
    expect(consent.body).toContain('name="decision"');
  });
});

describe('response_mode=form_post', () => {
  const formOf = ({ body }: VisitedPage) => {
    const fields = [...body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
    return {
      action: /<form method="post" action="([^"]*)"/.exec(body)?.[1],
      fields: Object.fromEntries(fields.map(([, name, value]) => [name, value])),
    };
  };

  test('posts the code and the state by a page without inline script that nothing can frame', async () => {
    const visitor = createPageVisitor();
    const parameters = { response_mode: 'form_post', scope: 'openid', state: `${markup}&amp;` };
    const consent = await openConsent(visitor, parameters);
    const posted = await visitor.submit(consent, { decision: 'allow' });
    const page = await visitor.get(posted.location ?? '');
    const { action, fields } = formOf(page);
    expect([page.status, action, fields.iss]).toEqual([200, web.redirectUri, issuer]);
    expect(fields.state).toBe('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;');
    expect((await redeem(fields.code ?? '')).status).toBe(200);
    const policy = page.headers.get('content-security-policy') ?? '';
    for (const part of [
      "script-src 'self'",
      "frame-ancestors 'none'",
      `form-action 'self' https://app.example`,
    ]) {
      expect(policy).toContain(part);
    }
    expect(policy).not.toContain('unsafe-inline');
    expect(page.headers.get('cache-control')).toBe('no-store');
    const scripts = page.body.match(/<script[^>]*>[^<]*/g);
    expect(scripts).toEqual(['<script src="/assets/submit-form.js" defer>']);
  });

  test('posts errors as well', async () => {
    const error = await authorize({ response_mode: 'form_post', prompt: 'none', state: 's1' });
    const fields = expect.objectContaining({ error: 'login_required', state: 's1', iss: issuer });
    expect([error.status, formOf(error)]).toEqual([400, { action: web.redirectUri, fields }]);
  });
});

describe('PKCE', () => {
  const { verifier, pkce } = newPkce();
  const asBrowser = of(browserApp);

  test.each<[string, number, Fields]>([
    ['the verifier', 200, { code_verifier: verifier }],
    ['no verifier', 400, {}],
    ['another verifier', 400, { code_verifier: verifier.toUpperCase() }],
    ['the challenge', 400, { code_verifier: pkce.code_challenge }],
    ['42 characters', 400, { code_verifier: 'v'.repeat(42) }],
    ['129 characters', 400, { code_verifier: 'v'.repeat(129) }],
    ['text that is not ASCII', 400, { code_verifier: 'é'.repeat(43) }],
  ])('binds a code to its verifier: %s gets %d', async (_what, status, fields) => {
    const ofPublic = await newCode({ ...asBrowser, ...pkce });
    expect((await redeem(ofPublic, { ...asBrowser, ...fields }, {})).status).toBe(status);
    expect((await redeem(await newCode(pkce), fields)).status).toBe(status);
  });

  test('is optional for a confidential client, whose verifier needs a challenge', async () => {
    expect((await redeem(await newCode())).status).toBe(200);
    const reply = await redeem(await newCode(), { code_verifier: verifier });
    expect(outcome(reply)).toEqual([400, 'invalid_grant']);
  });
});

describe('a pushed authorization request (RFC 9126)', () => {
  const asFull = as(full);

  async function push(
    client: { clientId: string; redirectUri: string },
    parameters: Fields,
    headers: Fields,
  ) {
    const { status, body } = await post(
      '/par',
      { response_type: 'code', ...of(client), ...parameters },
      headers,
    );
    const request = { client_id: client.clientId, request_uri: body.request_uri };
    return {
      status,
      error: body.error,
      address: `${issuer}/authorize?${new URLSearchParams(request)}`,
    };
  }

  test('is rejected if the client is registered for no scope', async () => {
    const pushed = await push(scopeless, { scope: 'openid device:read' }, as(scopeless));
    expect([pushed.status, pushed.error]).toEqual([400, 'invalid_scope']);
  });

  test.each<[string, Fields]>([
    ['device:read device:write device:log openid profile', {}],
    ['openid device:read', { scope: 'openid device:read device:report nonsense' }],
  ])('grants %s, whatever the URL adds', async (scope, parameters) => {
    for (const extra of ['', '&scope=', '&scope=openid+nonsense']) {
      const { address } = await push(full, parameters, asFull);
      const visitor = createPageVisitor();
      const consent = await open(visitor, address + extra);
      const posted = await visitor.submit(consent, { decision: 'allow' });
      const landing = new URL((await visitor.get(posted.location ?? '')).location ?? '');
      const { body } = await redeem(landing.searchParams.get('code') ?? '', {}, asFull);
      expect(body.scope).toBe(scope);
    }
  });

  test('is rejected for another client, stays valid for its own, and can be used once', async () => {
    const { address } = await push(web, { scope: 'device:read' }, asWeb);
    // The other client has the same redirect URI and scope, so only its id differs.
    expectPage(await get(address.replace('client_id=web', `client_id=${full.clientId}`)));
    const visitor = createPageVisitor();
    const consent = await open(visitor, address);
    const posted = await visitor.submit(consent, { decision: 'allow' });
    expect((await visitor.get(posted.location ?? '')).location).toContain('code=');
    const again = await get(address);
    expect([again.status, again.body]).toEqual([
      400,
      expect.stringContaining('invalid_request_uri'),
    ]);
  });
});

describe('claims', () => {
  const wanted = JSON.stringify({
    userinfo: { name: { essential: true }, nonsense: null },
    id_token: { preferred_username: null, auth_time: { essential: true } },
  });
  const claimsOf = async (code: string, more: Fields = {}, headers = asWeb) => {
    const { body } = await redeem(code, more, headers);
    const payload = Buffer.from(body.id_token.split('.')[1], 'base64url').toString();
    return { idToken: JSON.parse(payload), userinfo: (await userinfo(body.access_token)).claims };
  };

  test('are given where they were requested, after the user saw them on the consent page', async () => {
    const visitor = createPageVisitor();
    const page = await openConsent(visitor, { scope: 'openid', claims: wanted });
    expect(page.body).toContain('See your name and username');
    const posted = await visitor.submit(page, { decision: 'allow' });
    const landing = new URL((await visitor.get(posted.location ?? '')).location ?? '');
    const { idToken, userinfo: told } = await claimsOf(landing.searchParams.get('code') ?? '');
    expect(told).toEqual({ sub: idToken.sub, name: 'Alice Example' });
    expect(idToken).toMatchObject({ preferred_username: 'alice', auth_time: expect.any(Number) });
    expect(idToken).not.toHaveProperty('name');
  });

  test('give a first-party application, without a consent page, only those of its scopes', async () => {
    const visitor = createPageVisitor();
    const parameters = { ...of(firstParty), scope: 'openid device:read', claims: wanted };
    const signedIn = await visitor.submit(await openSignIn(visitor, parameters), alice);
    const { location = '' } = await visitor.get(signedIn.location ?? '');
    expect(location).toMatch(/^https:\/\/first\.example\/callback\?code=/);
    const code = new URL(location).searchParams.get('code') ?? '';
    const { idToken, userinfo: told } = await claimsOf(code, of(firstParty), as(firstParty));
    expect(told).toEqual({ sub: idToken.sub });
    expect(idToken).not.toHaveProperty('preferred_username');
  });

  const ofScope = {
    profile: {
      ...{ name: 'Carol Example', given_name: 'Carol', family_name: 'Example' },
      ...{ preferred_username: 'carol', updated_at: expect.any(Number) },
    },
    email: { email: 'carol@example.com', email_verified: true },
    groups: { groups: ['admin', 'plant 7'], roles: ['admin', 'plant 7'], org: 'org-1' },
  };
  const names = Object.values(ofScope).flatMap((each) => Object.keys(each));
  const personal = (claims: object) =>
    Object.fromEntries(Object.entries(claims).filter(([name]) => names.includes(name)));

  test.each<[string, User, object]>([
    ['openid', carol, {}],
    ['openid profile', carol, ofScope.profile],
    ['openid email', carol, ofScope.email],
    ['openid groups', carol, ofScope.groups],
    [
      'openid profile email groups',
      alice,
      {
        ...{ name: 'Alice Example', preferred_username: 'alice', updated_at: expect.any(Number) },
        ...{ groups: [], roles: [], org: 'org-1' },
      },
    ],
  ])('are exactly those of %s', async (scope, user, expected) => {
    const { idToken, userinfo: told } = await claimsOf(await newCode({ scope }, user));
    expect([personal(idToken), personal(told)]).toEqual([expected, expected]);
  });
});

describe('prompt=select_account', () => {
  const parameters = { prompt: 'select_account', scope: 'openid' };
  const subjectAfter = async (visitor: PageVisitor, page: VisitedPage) => {
    const landing = new URL((await visitor.get(page.location ?? '')).location ?? '');
    const { body } = await redeem(landing.searchParams.get('code') ?? '');
    return (await userinfo(body.access_token)).claims.sub;
  };

  test('lets the signed-in user continue, or use another account', async () => {
    const visitor = createPageVisitor();
    const { access_token } = await tokensFor({ scope: 'openid' }, alice, visitor);
    const { sub } = (await userinfo(access_token)).claims;
    const choice = await openSignIn(visitor, parameters);
    // One element: a flexible box drops the space between text and an element.
    expect(choice.body).toContain('<span>Continue as <bdi>Alice Example</bdi></span>');
    expect(await subjectAfter(visitor, await visitor.submit(choice, {}))).toBe(sub);

    const again = await openSignIn(visitor, parameters);
    const posted = await visitor.submit(await visitor.get(`${again.url}/account`), bob);
    const consent = await visitor.get((await visitor.get(posted.location ?? '')).location ?? '');
    const allowed = await visitor.submit(consent, { decision: 'allow' });
    expect(await subjectAfter(visitor, allowed)).not.toBe(sub);
  });

  test('asks a user who is not signed in to sign in once', async () => {
    expect((await land(parameters)).searchParams.has('code')).toBe(true);
  });

  test('rejects a choice without the token of the form, or without a signed-in user', async () => {
    const visitor = createPageVisitor();
    await land({}, alice, visitor);
    const choice = await openSignIn(visitor, parameters);
    expect((await visitor.submit(choice, { csrf: '' })).status).toBe(403);
    const stranger = createPageVisitor();
    const form = await openSignIn(stranger, parameters);
    const forged = { ...form, body: form.body.replace('/credentials"', '/choice"') };
    expect((await stranger.submit(forged, {})).status).toBe(403);
  });
});
