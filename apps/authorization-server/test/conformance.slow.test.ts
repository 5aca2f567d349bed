/**
 * The modules of the OpenID conformance suite as tests, by their names. docs/conformance.md lists
 * the plans. Each test checks what its module requires of the server.
 */

import { knownScopes } from '@gatehouse/identity';
import {
  createPageVisitor,
  newPkce,
  type PageVisitor,
  until,
  type VisitedPage,
} from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import {
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  type JWTPayload,
  jwtVerify,
} from 'jose';
import { client, full, installation, carol as user } from './installation.ts';
import { as, type Fields, outcome, refreshing, startServers } from './server.ts';

const suite = {
  clientId: 'suite',
  secureKey: 'suiteKey0123456789abcd',
  redirectUri: 'https://suite.example/callback',
  signedOutUri: 'https://suite.example/signed-out',
} as const;
const grants = ['authorization_code', 'refresh_token', 'implicit'];
const ofSuite = client(suite, grants, knownScopes, {
  postLogoutRedirectUris: [suite.signedOutUri],
});
const { first } = await startServers({
  bootstrap: { ...installation, clients: [...installation.clients, ofSuite] },
  // The tests send more than a thousand page requests from one address.
  environment: { PAGE_RATE_LIMIT: '100000/60' },
});
const { get, issuer, token } = first;
const name = 'Carol Example';
const email = 'carol@example.com';
const longAgo = { max_age: '15000' };

interface Answer {
  /** The parameters that the application received, in the query, the fragment or a form. */
  readonly values: Fields;
  readonly signIns: number;
  /** The time of the request in epoch seconds. */
  readonly requestedAt: number;
  /** The page that was shown instead, without a redirect. */
  readonly errorPage?: string;
}

function urlOf(parameters: Fields): string {
  const request = {
    ...{ response_type: 'code', client_id: suite.clientId, redirect_uri: suite.redirectUri },
    ...{ scope: 'openid', state: 'state-1', nonce: 'nonce-1' },
    ...parameters,
  };
  const given = Object.entries(request).filter(([, value]) => value !== '');
  return `${issuer}/authorize?${new URLSearchParams(given)}`;
}

/** An empty parameter removes the default. */
async function authorize(
  parameters: Fields,
  visitor: PageVisitor = createPageVisitor(),
): Promise<Answer> {
  return finish(() => visitor.get(urlOf(parameters)), visitor);
}

/** Signs in, gives consent, and returns what the application receives. */
async function finish(request: () => Promise<VisitedPage>, visitor: PageVisitor): Promise<Answer> {
  const requestedAt = Math.floor(Date.now() / 1000);
  let page = await request();
  let signIns = 0;
  for (let step = 0; step < 10; step += 1) {
    const values = receivedBy(page);
    if (values !== undefined) {
      return { values, signIns, requestedAt };
    }
    if (page.location !== undefined) {
      page = await visitor.get(page.location);
    } else if (page.body.includes('name="password"')) {
      signIns += 1;
      page = await visitor.submit(page, user);
    } else if (page.body.includes('name="decision"')) {
      page = await visitor.submit(page, { decision: 'allow' });
    } else {
      break;
    }
  }
  return { values: {}, signIns, requestedAt, errorPage: page.body };
}

/** What the page sends to the application, in an address or a form. */
function receivedBy({ location, body }: VisitedPage): Fields | undefined {
  if (location?.startsWith(suite.redirectUri)) {
    const { hash, search } = new URL(location);
    return Object.fromEntries(new URLSearchParams((hash || search).slice(1)));
  }
  const fields = [...body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
  return body.includes(`action="${suite.redirectUri}"`)
    ? Object.fromEntries(fields.map(([, field, value]) => [field, value]))
    : undefined;
}

async function redeem({ values }: Answer, headers = as(suite), extra: Fields = {}) {
  const redirect_uri = suite.redirectUri;
  return (await first.redeem(values.code ?? '', { redirect_uri, ...extra }, headers)).body;
}

async function userinfo(token: string, how: 'get' | 'header' | 'body' = 'get') {
  const header = { authorization: `Bearer ${token}` };
  const reply = await fetch(`${issuer}/userinfo`, {
    method: how === 'get' ? 'GET' : 'POST',
    ...(how === 'body'
      ? { body: new URLSearchParams({ access_token: token }) }
      : { headers: header }),
  });
  return (await reply.json()) as Record<string, unknown>;
}

async function verifyIdToken(idToken: string) {
  const { payload, protectedHeader } = await jwtVerify(
    idToken,
    createRemoteJWKSet(new URL(`${issuer}/jwks`)),
    { issuer, audience: suite.clientId },
  );
  expect([protectedHeader.alg, typeof protectedHeader.kid]).toEqual(['RS256', 'string']);
  expect(payload.nonce).toBe('nonce-1');
  return payload;
}

/** The auth_time of the ID token, which must be the time of the sign-in for this answer. */
function signInTime({ auth_time: time }: JWTPayload, { signIns, requestedAt }: Answer): number {
  expect([signIns, time]).toEqual([1, expect.any(Number)]);
  expect(Number(time)).toBeGreaterThanOrEqual(requestedAt);
  expect(Number(time)).toBeLessThanOrEqual(Date.now() / 1000);
  return Number(time);
}

/** One way to get an ID token, and an access token where the response type has one. */
interface Flow {
  readonly parameters: Fields;
  tokens(answer: Answer): Promise<{ id_token: string; access_token?: string }>;
}

const codeFlow = (mode: Fields): Flow => ({
  parameters: mode,
  tokens: (answer) => redeem(answer),
});
const implicitFlow = (responseType: string): Flow => ({
  parameters: { response_type: responseType },
  tokens: async ({ values }) => values as { id_token: string; access_token?: string },
});

/** The modules that all plans have. */
function commonModules({ parameters, tokens }: Flow): void {
  const ask = (more: Fields = {}, visitor?: PageVisitor) =>
    authorize({ ...parameters, ...more }, visitor);
  const idTokenOf = async (answer: Answer) => decodeJwt((await tokens(answer)).id_token);
  const expectSignedIn = async (more: Fields) => {
    const answer = await ask(more);
    expect(answer.values).toMatchObject({ state: 'state-1' });
    await verifyIdToken((await tokens(answer)).id_token);
  };

  test.each([
    ['oidcc-scope-profile', 'openid profile', ['name']],
    ['oidcc-scope-email', 'openid email', ['email', 'email_verified']],
    ['oidcc-ensure-other-scope-order-succeeds', 'email openid', ['email']],
  ])('%s', async (_name, scope, claims) => {
    const { id_token: idToken, access_token: token } = await tokens(await ask({ scope }));
    const given = token === undefined ? decodeJwt(idToken) : await userinfo(token);
    expect(Object.keys(given)).toEqual(expect.arrayContaining(['sub', ...claims]));
  });

  test.each<[string, Fields]>([
    ['oidcc-server, oidcc-idtoken-signature', {}],
    ['oidcc-display-page', { display: 'page' }],
    ['oidcc-display-popup', { display: 'popup' }],
    ['oidcc-ensure-request-with-unknown-parameter-succeeds', { extra: 'foobar' }],
    ['oidcc-login-hint', { login_hint: 'carol' }],
    ['oidcc-ui-locales', { ui_locales: 'se' }],
    ['oidcc-claims-locales', { claims_locales: 'se' }],
    ['oidcc-ensure-request-with-acr-values-succeeds', { acr_values: '1 2' }],
  ])('%s', (_name, more) => expectSignedIn(more));

  test('oidcc-claims-essential', async () => {
    const place = parameters.response_type === 'id_token' ? 'id_token' : 'userinfo';
    const claims = JSON.stringify({ [place]: { name: { essential: true } } });
    const { id_token: idToken, access_token: token } = await tokens(await ask({ claims }));
    const given = token === undefined ? decodeJwt(idToken) : await userinfo(token);
    expect(given.name).toBe(name);
  });

  test('oidcc-prompt-login', async () => {
    const visitor = createPageVisitor();
    const answer = await ask(longAgo, visitor);
    const first = await idTokenOf(answer);
    const firstTime = signInTime(first, answer);
    await until(() => Date.now() / 1000 >= firstTime + 1);
    const again = await ask({ prompt: 'login', ...longAgo }, visitor);
    const second = await idTokenOf(again);
    expect(second.sub).toBe(first.sub);
    expect(signInTime(second, again)).toBeGreaterThan(firstTime);
  });

  test('oidcc-prompt-none-not-logged-in', async () => {
    expect((await ask({ prompt: 'none' })).values.error).toBe('login_required');
  });

  test('oidcc-prompt-none-logged-in', async () => {
    const visitor = createPageVisitor();
    const first = await idTokenOf(await ask(longAgo, visitor));
    const silent = await ask({ prompt: 'none', ...longAgo }, visitor);
    const { sub, auth_time: time } = await idTokenOf(silent);
    expect([silent.signIns, sub, time]).toEqual([0, first.sub, first.auth_time]);
  });

  test('oidcc-max-age-1', async () => {
    const visitor = createPageVisitor();
    const answer = await ask(longAgo, visitor);
    const firstTime = signInTime(await idTokenOf(answer), answer);
    let again = answer;
    await until(async () => {
      again = await ask({ max_age: '1' }, visitor);
      return again.signIns === 1;
    });
    expect(signInTime(await idTokenOf(again), again)).toBeGreaterThan(firstTime);
  });

  test('oidcc-max-age-10000', async () => {
    const visitor = createPageVisitor();
    const answer = await ask(longAgo, visitor);
    const first = await idTokenOf(answer);
    const firstTime = signInTime(first, answer);
    await until(() => Date.now() / 1000 >= firstTime + 1);
    const again = await ask({ max_age: '10000' }, visitor);
    const { sub, auth_time: time } = await idTokenOf(again);
    expect([again.signIns, sub, time]).toEqual([0, first.sub, firstTime]);
  });

  test('oidcc-id-token-hint', async () => {
    const visitor = createPageVisitor();
    const { id_token: hint } = await tokens(await ask({}, visitor));
    const silent = await ask({ prompt: 'none', id_token_hint: hint }, visitor);
    expect((await idTokenOf(silent)).sub).toBe(decodeJwt(hint).sub);
  });

  test('oidcc-ensure-registered-redirect-uri', async () => {
    const answer = await ask({ redirect_uri: `${suite.redirectUri}/other` });
    expect([answer.values, answer.errorPage?.includes('<h1>')]).toEqual([{}, true]);
  });

  test('oidcc-response-type-missing', async () => {
    const { values, errorPage } = await ask({ response_type: '' });
    expect(errorPage ?? values.error_description).toContain('response_type');
  });
}

/** What makes the suite skip modules of all plans. */
function skippedModules({ parameters, tokens }: Flow): void {
  const ask = (more: Fields) => authorize({ ...parameters, ...more });

  test('the scopes address and phone are ignored', async () => {
    const scope = 'openid profile email address phone';
    const { id_token: idToken, access_token: token } = await tokens(await ask({ scope }));
    const given = token === undefined ? decodeJwt(idToken) : await userinfo(token);
    expect(given).toMatchObject({ name: name, email: email });
    expect([given.address, given.phone_number]).toEqual([undefined, undefined]);
  });

  test.each([
    ['request', 'eyJhbGciOiJub25lIn0.e30.', 'request_not_supported'],
    ['request_uri', 'https://suite.example/request', 'request_uri_not_supported'],
  ])('request objects in %s are rejected', async (name, value, error) => {
    expect((await ask({ [name]: value })).values.error).toBe(error);
  });
}

function userinfoModules({ parameters, tokens }: Flow): void {
  test.each([
    ['oidcc-userinfo-get', 'get'],
    ['oidcc-userinfo-post-header', 'header'],
    ['oidcc-userinfo-post-body', 'body'],
  ] as const)('%s', async (_name, how) => {
    const { id_token: idToken, access_token: token = '' } = await tokens(
      await authorize(parameters),
    );
    expect((await userinfo(token, how)).sub).toBe(decodeJwt(idToken).sub);
  });
}

describe.each<[string, Fields]>([
  ['oidcc-basic-certification-test-plan', {}],
  ['oidcc-formpost-basic-certification-test-plan', { response_mode: 'form_post' }],
])('%s', (_plan, mode) => {
  const flow = codeFlow(mode);
  commonModules(flow);
  skippedModules(flow);
  userinfoModules(flow);

  test('oidcc-ensure-request-without-nonce-succeeds-for-code-flow', async () => {
    const { id_token: idToken } = await redeem(await authorize({ ...mode, nonce: '' }));
    expect(decodeJwt(idToken).nonce).toBeUndefined();
  });

  test('oidcc-codereuse, oidcc-codereuse-30seconds', async () => {
    const answer = await authorize(mode);
    const { access_token: token } = await redeem(answer);
    expect((await redeem(answer)).error).toBe('invalid_grant');
    expect((await userinfo(token)).error).toBe('invalid_token');
  });

  test('oidcc-ensure-post-request-succeeds', async () => {
    const visitor = createPageVisitor();
    const { searchParams } = new URL(urlOf({ ...mode, ...longAgo }));
    const application = {
      url: suite.redirectUri,
      body: `<form method="post" action="${issuer}/authorize">`,
    };
    const answer = await finish(
      () => visitor.submit(application, Object.fromEntries(searchParams)),
      visitor,
    );
    expect(answer.values).toMatchObject({ state: 'state-1' });
    const { id_token: idToken } = await redeem(answer);
    // Present only if the server read max_age from the body.
    signInTime(await verifyIdToken(idToken), answer);
  });

  test('oidcc-server-client-secret-post', async () => {
    const secret = { client_id: suite.clientId, client_secret: suite.secureKey };
    const { id_token: idToken } = await redeem(await authorize(mode), {}, secret);
    await verifyIdToken(idToken);
  });

  test('oidcc-refresh-token', async () => {
    const scope = 'openid offline_access';
    const request = { ...mode, scope, prompt: 'consent', ...longAgo };
    const answer = await authorize(request);
    const first = await redeem(answer);
    const before = decodeJwt(first.id_token);
    const firstTime = signInTime(before, answer);
    await until(() => Date.now() / 1000 >= firstTime + 1);

    const { body } = await token(refreshing(first.refresh_token), as(suite));
    const after = decodeJwt(body.id_token);
    expect([after.sub, after.iss, after.aud]).toEqual([before.sub, before.iss, before.aud]);
    expect(after.auth_time).toBe(firstTime);
    expect(Number(after.iat)).toBeGreaterThan(firstTime);
    expect(body.access_token).not.toBe(first.access_token);
    expect((await userinfo(body.access_token)).sub).toBe(before.sub);

    const stolen = await token(refreshing(body.refresh_token), as(full));
    expect(outcome(stolen)).toEqual([400, 'invalid_grant']);
  });

  test('oidcc-ensure-request-with-valid-pkce-succeeds', async () => {
    const { verifier, pkce } = newPkce('v'.repeat(64));
    const answer = await authorize({ ...mode, ...pkce });
    await verifyIdToken((await redeem(answer, as(suite), { code_verifier: verifier })).id_token);
  });
});

describe.each(['id_token', 'id_token token'])(
  'oidcc-implicit-certification-test-plan with %s',
  (responseType) => {
    const flow = implicitFlow(responseType);
    commonModules(flow);
    skippedModules(flow);
    if (responseType === 'id_token token') {
      userinfoModules(flow);
    }

    test('oidcc-ensure-request-without-nonce-fails', async () => {
      const { values } = await authorize({ response_type: responseType, nonce: '' });
      expect([values.error, values.id_token]).toEqual(['invalid_request', undefined]);
    });
  },
);

const readMetadata = async () => JSON.parse((await get('/.well-known/openid-configuration')).body);

describe('oidcc-config-certification-test-plan', () => {
  test('oidcc-discovery-endpoint-verification', async () => {
    const metadata = await readMetadata();
    expect(metadata).toMatchObject({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      scopes_supported: expect.arrayContaining(['openid']),
      response_types_supported: expect.arrayContaining(['code', 'id_token', 'id_token token']),
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      claims_parameter_supported: true,
      request_uri_parameter_supported: false,
    });
    expect(metadata.scopes_supported).not.toContain('address');
    expect(metadata.scopes_supported).not.toContain('phone');
    expect(metadata).not.toHaveProperty('request_object_signing_alg_values_supported');
    expect(JSON.parse((await get('/jwks')).body).keys).not.toHaveLength(0);
  });
});

describe('oidcc-rp-initiated-logout-certification-test-plan', () => {
  const registered = { post_logout_redirect_uri: suite.signedOutUri };

  /** Signs in, and asks to sign out with these parameters. */
  async function signOut(parametersOf: (hint: string) => Fields) {
    const visitor = createPageVisitor();
    const { id_token: hint } = await redeem(await authorize({}, visitor));
    const page = await visitor.get(`${issuer}/logout?${new URLSearchParams(parametersOf(hint))}`);
    const isSignedIn = async () =>
      (await authorize({ prompt: 'none' }, visitor)).values.error === undefined;
    if (page.status !== 200) {
      return { status: page.status, location: page.location, isSignedIn: await isSignedIn() };
    }
    const { location } = await visitor.submit(page, { logout: 'yes' });
    return { status: 200, location, isSignedIn: await isSignedIn() };
  }

  const tampered = (hint: string) => `${hint.slice(0, -8)}AAAAAAAA`;

  test('oidcc-rp-initiated-logout-discovery-endpoint-verification', async () => {
    expect(await readMetadata()).toMatchObject({ end_session_endpoint: `${issuer}/logout` });
  });

  const rejected = { status: 400, location: undefined, isSignedIn: true };
  /** Signed out without a question, because the application is known for certain. */
  const signedOut = (location: string) => ({ status: 302, location, isSignedIn: false });
  const atSuccess = { ...signedOut(`${issuer}/logout/success`), status: 200 };
  const bad = (post_logout_redirect_uri: string) => (id_token_hint: string) => ({
    id_token_hint,
    post_logout_redirect_uri,
  });

  test.each<[string, object, (hint: string) => Fields]>([
    [
      '',
      signedOut(`${suite.signedOutUri}?state=s1`),
      (hint) => ({ id_token_hint: hint, ...registered, state: 's1' }),
    ],
    [
      '-no-state',
      signedOut(suite.signedOutUri),
      (hint) => ({ id_token_hint: hint, ...registered }),
    ],
    ['-bad-post-logout-redirect-uri', rejected, bad('https://suite.example/other')],
    ['-query-added-to-post-logout-redirect-uri', rejected, bad(`${suite.signedOutUri}?foo=bar`)],
    [
      '-modified-id-token-hint',
      rejected,
      (hint) => ({ id_token_hint: tampered(hint), ...registered }),
    ],
    ['-bad-id-token-hint', rejected, () => ({ id_token_hint: 'x', ...registered })],
    ['-no-id-token-hint', atSuccess, () => registered],
    ['-no-params', atSuccess, () => ({})],
    ['-no-post-logout-redirect-uri', atSuccess, (hint) => ({ id_token_hint: hint })],
    ['-only-state', atSuccess, () => ({ state: 's1' })],
  ])('oidcc-rp-initiated-logout%s', async (_module, expected, parametersOf) => {
    expect(await signOut(parametersOf)).toEqual(expected);
  });
});

test('no ID token is unsigned', async () => {
  const { id_token: idToken } = await redeem(await authorize({}));
  expect(decodeProtectedHeader(idToken).alg).toBe('RS256');
});
