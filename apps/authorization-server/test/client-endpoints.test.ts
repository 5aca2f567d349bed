// requires: redis-server
/** Client authentication, the transport of the client endpoints, and the metadata. */

import { request as httpRequest } from 'node:http';
import { basic, createPageVisitor, exchange, type VisitedPage } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { failedSecretLimit } from '../src/throttle/limits.ts';
import {
  alice,
  blocked,
  browserApp,
  disabled,
  machine,
  odd,
  resourceServer,
  web,
} from './installation.ts';
import {
  as,
  asWeb,
  type Fields,
  linesOf,
  machineGrant,
  outcome,
  type Reply,
  redeeming,
  refreshing,
  startServers,
} from './server.ts';

const system = await startServers();
const { authorize, get, isActive, issuer, openSignIn, post, token, tokensFor } = system.first;

const GRANT = 'grant_type=client_credentials';
const asForm = { ...asWeb, 'content-type': 'application/x-www-form-urlencoded' };
const newToken = async () => String((await token(machineGrant)).body.access_token);
const stillServes = async () => expect((await token(machineGrant)).status).toBe(200);

describe('client authentication', () => {
  const encoded = basic(web.clientId, web.secureKey).slice(6);
  const strictly = (text: string) =>
    encodeURIComponent(text).replace(/(?:[-_.!~*'()]|%20)/g, (found) =>
      found === '%20' ? '+' : `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  const inBody = { client_id: web.clientId, client_secret: web.secureKey };

  test.each<[string, Fields, Fields]>([
    ['Basic, form-encoded before base64', as(odd), {}],
    [
      "Basic with -_.!~*'() and space encoded",
      { authorization: `Basic ${btoa(`${strictly(odd.clientId)}:${strictly(odd.secureKey)}`)}` },
      {},
    ],
    ['the scheme in lower case', { authorization: `basic ${encoded}` }, {}],
    ['the secret in the body', {}, inBody],
  ])('accepts %s', async (_how, headers, fields) => {
    expect((await token({ ...machineGrant, ...fields }, headers)).status).toBe(200);
  });

  const wrong = 'wrong-secret-0123456789';
  test('rejects an unknown client, a disabled client, a missing and a wrong secret the same', async () => {
    const secrets = [wrong, `${web.secureKey}\0`, `${web.secureKey} `, `${web.secureKey}x`, ''];
    const replies = await Promise.all([
      token(machineGrant, as({ clientId: 'nobody', secureKey: wrong })),
      token(machineGrant, as(disabled)),
      token(machineGrant, as({ ...web, secureKey: wrong })),
      ...secrets.map((client_secret) => token({ ...machineGrant, ...inBody, client_secret }, {})),
      token({ ...machineGrant, client_id: web.clientId }, {}),
      // An assertion without signature. Assertions are not supported.
      token(
        {
          ...{ ...machineGrant, client_id: web.clientId },
          client_assertion: `${btoa('{"alg":"none"}')}.${btoa('{"sub":"web","iss":"web"}')}.`,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        },
        {},
      ),
    ]);
    for (const { status, headers, body } of replies) {
      expect([status, headers.get('www-authenticate')]).toEqual([
        401,
        expect.stringMatching(/^Basic realm=/),
      ]);
      expect(body).toMatchObject({ error: 'invalid_client' });
    }
    expect(new Set(replies.slice(0, 7).map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  test.each(['/token', '/revoke', '/introspect', '/par', '/device/auth', '/platform/oauth2/token'])(
    'is needed at %s',
    async (path) => {
      for (const authorization of ['', 'Basic %%%', `Basic ${btoa('web:')}`]) {
        const headers: Fields = authorization === '' ? {} : { authorization };
        const reply = await post(path, { ...machineGrant, token: 'x' }, headers);
        expect(outcome(reply)).toEqual([401, 'invalid_client']);
        expect(reply.headers.get('www-authenticate')).toMatch(/^Basic /);
      }
    },
  );

  test.each([`Basic\t${encoded}`, `Basic ${encoded},`])('rejects %j', async (authorization) => {
    expect([400, 401]).toContain((await token(machineGrant, { authorization })).status);
  });

  test('accepts an empty secret in HTTP Basic from a public client only', async () => {
    const asPublic = { authorization: `Basic ${btoa(`${browserApp.clientId}:`)}` };
    const { redirectUri: redirect_uri, clientId: client_id } = browserApp;
    const pkce = { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' };
    const pushed = { response_type: 'code', redirect_uri, ...pkce };
    for (const id of [{}, { client_id, client_secret: '' }] as Fields[]) {
      const refreshed = await token({ ...refreshing('unknown'), ...id }, asPublic);
      expect(outcome(refreshed)).toEqual([400, 'invalid_grant']);
      expect((await post('/revoke', { token: 'x', ...id }, asPublic)).status).toBe(200);
      expect((await post('/par', { ...pushed, ...id }, asPublic)).status).toBe(201);
    }
    const twice = 'client authentication must only be provided using one mechanism';
    for (const [second, description] of [
      [{ client_id: web.clientId }, 'client_id mismatch'],
      [{ client_secret: web.secureKey }, twice],
      [inBody, twice],
    ] as const) {
      const { status, body } = await token({ ...machineGrant, ...second }, asPublic);
      expect([status, body]).toEqual([
        400,
        { error: 'invalid_request', error_description: description },
      ]);
    }
  });

  test('rejects another id next to Basic, and a secret in the URL, which is not logged', async () => {
    expect((await token({ ...machineGrant, client_id: 'other' })).status).toBe(400);
    const inUrl = await post(`/token?client_id=web&client_secret=${web.secureKey}`, machineGrant);
    expect(inUrl.status).toBe(400);
    expect(await system.output()).not.toContain(web.secureKey);
  });
});

describe('the transport', () => {
  test.each([
    ['1.0', 'chunked', 'needs HTTP/1.1'],
    ['1.1', 'gzip, chunked', 'must be chunked'],
  ])('CWE-444 rejects HTTP/%s with Transfer-Encoding: %s', async (version, encoding, problem) => {
    const revoked = await newToken();
    const revocation = `token=${revoked}`;
    const head = `Host: x\r\nAuthorization: ${asWeb.authorization}\r\nContent-Type: application/x-www-form-urlencoded\r\n`;
    const smuggled = `POST /revoke HTTP/1.1\r\n${head}Content-Length: ${revocation.length}\r\n\r\n${revocation}`;
    const reply = await exchange(
      issuer,
      `POST /token HTTP/${version}\r\n${head}Connection: keep-alive\r\nTransfer-Encoding: ${encoding}\r\n\r\n` +
        `${GRANT.length.toString(16)}\r\n${GRANT}\r\n0\r\n\r\n${smuggled}`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 400 /);
    expect(reply).toMatch(/\r\nconnection: close\r\n/i);
    expect(reply).toContain(`Transfer-Encoding ${problem}.`);
    expect(reply.match(/HTTP\/1\.1 [1-5]/g)).toHaveLength(1);
    await stillServes();
    expect(await isActive(revoked)).toBe(true);
  });

  test('rejects a body over the limit, with and without Content-Length', async () => {
    const large = `${GRANT}&x=${'y'.repeat(56 * 1024)}`;
    const declared = await post('/token', large, asForm);
    expect([declared.status, declared.headers.get('connection')]).toEqual([413, 'close']);
    const chunked = await new Promise((resolve, reject) => {
      const headers = { ...asForm, 'transfer-encoding': 'chunked' };
      const request = httpRequest(`${issuer}/token`, { method: 'POST', headers }, (reply) => {
        reply.resume();
        resolve([reply.statusCode, reply.headers.connection]);
      });
      request.on('error', reject);
      request.write(large);
      request.end();
    });
    expect(chunked).toEqual([413, 'close']);
    await stillServes();
  });

  test.each([GRANT, 'scope=device:read', 'client_id=web', 'client_id=other'])(
    'rejects a repeated parameter: %s',
    async (second) => {
      const first = `${GRANT}&scope=device%3Aread&client_id=web`;
      expect(outcome(await post('/token', `${first}&${second}`, asForm))).toEqual([
        400,
        'invalid_request',
      ]);
    },
  );

  test('ignores parameters named like members of every object, and survives 5,000 parameters', async () => {
    const odds = '__proto__=x&constructor=y&toString=z&__proto__[a]=b';
    expect((await post('/token', `${GRANT}&${odds}`, asForm)).status).toBe(200);
    const many = Array.from({ length: 5000 }, (_, i) => `p${i}=`).join('&');
    expect([200, 400]).toContain((await post('/token', `${GRANT}&${many}`, asForm)).status);
    await stillServes();
  });

  test('lets a browser application call from its own origin, and no other client or origin', async () => {
    const allowed = ({ headers }: Pick<Reply, 'headers'>) =>
      headers.get('access-control-allow-origin');
    const evil = 'https://evil.example';
    const preflight = async (origin: string) => {
      const headers = { origin, 'access-control-request-method': 'POST' };
      return allowed(await fetch(`${issuer}/token`, { method: 'OPTIONS', headers }));
    };
    expect(await preflight(evil)).toBeNull();
    expect(await preflight(browserApp.origin)).toBe(browserApp.origin);
    const own = await token(
      { ...redeeming('x'), client_id: browserApp.clientId },
      { origin: browserApp.origin },
    );
    expect([own.body.error, allowed(own)]).toEqual(['invalid_grant', browserApp.origin]);
    for (const origin of [browserApp.origin, evil]) {
      const other = await token(machineGrant, { ...asWeb, origin });
      expect([origin, other.status, allowed(other)]).toEqual([origin, 200, null]);
      expect(other.headers.get('access-control-expose-headers')).toBeNull();
    }
  });

  test.each([
    ['/token', machineGrant, 200],
    ['/introspect', { token: 'unknown' }, 200],
    ['/revoke', { token: 'unknown' }, 200],
    ['/par', { response_type: 'code', client_id: 'web', redirect_uri: web.redirectUri }, 201],
    ['/device/auth', { client_id: 'web' }, 400],
  ])('forbids caching of every reply of %s, and answers in JSON', async (path, good, status) => {
    const wrong = as({ ...web, secureKey: 'a wrong secret 0123456789' });
    const replies = [
      [status, await post(path, good, { ...asWeb, accept: 'text/html' })],
      [400, await post(path, { nothing: 'of use' })],
      [401, await post(path, good, wrong)],
      [401, await post(path, good, { authorization: 'Basic %' })],
      [405, await get(path)],
      [415, await post(path, good, { ...asWeb, 'content-encoding': 'gzip' })],
    ] as const;
    for (const [expected, reply] of replies) {
      const header = (name: string) => reply.headers.get(name)?.toLowerCase();
      expect([reply.status, header('cache-control'), header('pragma')]).toEqual([
        expected,
        'no-store',
        'no-cache',
      ]);
      expect(header('content-type')).toBe('application/json;charset=utf-8');
      expect(header('access-control-allow-origin')).toBeUndefined();
    }
  });
});

describe('the metadata', () => {
  const read = async (path = '/.well-known/openid-configuration') =>
    JSON.parse((await get(path)).body);

  test('is the same for every caller and every Host', async () => {
    const plain = await read();
    expect(await read('/.well-known/oauth-authorization-server')).toEqual(plain);
    expect(plain.issuer).toBe(issuer);
    const forged = await exchange(
      issuer,
      'GET /.well-known/openid-configuration HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nForwarded: host=evil.example\r\nConnection: close\r\n\r\n',
    );
    expect(forged).toContain('200 OK');
    expect(forged).toContain(JSON.stringify(plain.token_endpoint).slice(1, -1));
    expect(forged).not.toContain('evil.example');
  });

  test('lists what clients can use', async () => {
    const secrets = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];
    const names = ['name', 'given_name', 'preferred_username', 'updated_at', 'email', 'groups'];
    expect(await read()).toMatchObject({
      token_endpoint_auth_methods_supported: [...secrets, 'none'],
      revocation_endpoint_auth_methods_supported: [...secrets, 'none'],
      introspection_endpoint_auth_methods_supported: secrets,
      ui_locales_supported: ['en', 'zh-CN', 'zh-TW', 'ja', 'ko', 'de', 'fr', 'es', 'pt-BR'],
      response_modes_supported: ['form_post', 'fragment', 'query'],
      scopes_supported: expect.arrayContaining(['profile', 'email', 'groups']),
      claims_supported: expect.arrayContaining(['sub', ...names, 'roles', 'org']),
    });
  });

  test('lists only endpoints that exist, and exactly the supported grant types', async () => {
    const metadata = await read();
    const endpoints = Object.entries(metadata).filter(([name]) => /_endpoint$|_uri$/.test(name));
    expect(endpoints.length).toBeGreaterThan(6);
    for (const [name, url] of endpoints) {
      const method = /^(authorization|userinfo|end_session|jwks)_/.test(name) ? 'GET' : 'POST';
      const { status } = await fetch(String(url), { method, redirect: 'manual' });
      expect([name, [404, 405].includes(status)]).toEqual([name, false]);
    }
    const known = metadata.grant_types_supported as string[];
    const others = ['jwt-bearer', 'token-exchange'].map(
      (n) => `urn:ietf:params:oauth:grant-type:${n}`,
    );
    for (const grant_type of [
      ...known,
      ...others,
      'urn:openid:params:grant-type:ciba',
      'nonsense',
    ]) {
      const { error } = (await token({ grant_type })).body;
      const isKnown = known.includes(grant_type) && grant_type !== 'implicit';
      expect([grant_type, error !== 'unsupported_grant_type']).toEqual([grant_type, isKnown]);
    }
    expect(known).toEqual(
      expect.arrayContaining([
        ...['authorization_code', 'client_credentials', 'refresh_token', 'password', 'implicit'],
        'urn:ietf:params:oauth:grant-type:device_code',
      ]),
    );
  });

  test('has no private member of a key, and no development key', async () => {
    const { keys } = await read('/jwks');
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
      expect(key.kid).not.toBe('keystore-CHANGE-ME');
    }
  });
});

const FORM = 'application/x-www-form-urlencoded';

/** Sends bytes without a content type. */
const raw = (headers: Fields, body: string, path = '/token') =>
  fetch(issuer + path, { method: 'POST', headers, body: new Blob([body]) });

type Sent = Reply | VisitedPage | Response;
type Case = readonly [reason: string, code: string, clientId: string, send: () => Promise<Sent>];

/** Sends the requests, and compares the log lines. */
async function expectReasons(cases: readonly Case[]): Promise<void> {
  const replies: Sent[] = [];
  for (const [, , , send] of cases) {
    const reply = await send();
    expectPlainDescription(reply);
    replies.push(reply);
  }
  const lines = await linesOf(system, replies);
  expect(lines.map((line) => [line.reason, line.code, line.clientId ?? ''])).toEqual(
    cases.map(([reason, code, clientId]) => [reason, code, clientId]),
  );
}

/** RFC 6749 §5.2 and §4.1.2.1 allow these characters in `error_description`. */
function expectPlainDescription(reply: Sent): void {
  const location = URL.parse(reply.headers.get('location') ?? '');
  const ofBody = 'body' in reply ? reply.body.error_description : '';
  const description = location?.searchParams.get('error_description') ?? ofBody ?? '';
  expect(description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/);
}

const IR = 'invalid_request';
const IC = 'invalid_client';
const BASIC = 'client_authentication_malformed';
const WRONG = 'client_secret_wrong';
const REFUSED = 'form_refused';
const asWrong = as({ ...web, secureKey: 'x' });
const asJson = { 'content-type': 'application/json' };
const misplaced = (query: string, fields: Fields, headers?: Fields) =>
  post(`/token?${query}`, fields, headers);

const ofClients: readonly Case[] = [
  ['method_not_allowed', IR, '', () => get('/token')],
  ['not_found', IR, '', () => post('/token/', machineGrant)],
  ['parameter_misplaced', IR, 'web', () => misplaced('client_secret=x', machineGrant)],
  ['parameter_misplaced', IR, 'web', () => misplaced('grant_type=client_credentials', {})],
  ['parameter_misplaced', IC, '', () => misplaced('client_id=web', machineGrant, {})],
  ['body_type_wrong', IR, 'web', () => raw(asWeb, 'grant_type=x')],
  ['body_type_wrong', IC, '', () => raw({}, 'grant_type=x')],
  ['invalid_request', IR, '', () => raw(asJson, '{"code":1}', '/platform/oauth2/token')],
  [
    'invalid_request',
    IR,
    'web',
    () => post('/token', 'grant_type=a&grant_type=b', { ...asWeb, 'content-type': FORM }),
  ],
  [BASIC, IC, '', () => token(machineGrant, { authorization: 'Bearer x' })],
  [BASIC, IC, '', () => post('/introspect', { token: 'x' }, {})],
  [IR, IR, '', () => token({ ...machineGrant, client_assertion: 'x.y.z' }, {})],
  ['client_unknown', IC, '', () => token(machineGrant, as({ ...web, clientId: 'unknown' }))],
  [
    'client_disabled',
    IC,
    'disabled',
    () => token(machineGrant, as({ ...web, clientId: 'disabled' })),
  ],
  [WRONG, IC, 'web', () => token(machineGrant, asWrong)],
  [WRONG, IC, 'web', () => post('/revoke', { token: 'x' }, asWrong)],
  ['invalid_client', IC, 'web', () => token({ ...machineGrant, client_id: 'web' }, {})],
  ['unauthorized_client', 'unsupported_grant_type', 'web', () => token({ grant_type: 'x' })],
  ['invalid_scope', 'invalid_scope', 'web', () => token({ ...machineGrant, scope: 'a"b' })],
  [
    'invalid_target',
    'invalid_target',
    'web',
    () => token({ ...machineGrant, resource: 'https://unknown.example' }),
  ],
  ['refresh_token_unknown', 'invalid_grant', 'web', () => token(refreshing('x'))],
  ['invalid_token', 'invalid_token', '', () => get('/userinfo')],
  ['client_unknown', IC, '', () => authorize({ client_id: 'unknown' })],
  ['client_disabled', IC, 'disabled', () => authorize({ client_id: 'disabled' })],
  [
    'invalid_redirect_uri',
    'invalid_redirect_uri',
    'web',
    () => authorize({ redirect_uri: 'https://x.example/' }),
  ],
  ['login_required', 'login_required', 'web', () => authorize({ prompt: 'none' })],
  ['invalid_request', IR, 'web', () => authorize({ state: 'x'.repeat(5000) })],
  ['invalid_request', IR, '', () => get('/logout?id_token_hint=x')],
];

describe('the log names the reason', () => {
  test('of a request that a client endpoint rejects', () => expectReasons(ofClients));

  test('of a token that may not be used', async () => {
    const { access_token: value } = await tokensFor({ scope: 'device:read' });
    const headers = { authorization: `Bearer ${value}` };
    await expectReasons([
      [
        'invalid_request',
        IR,
        'resources',
        () => post('/revoke', { token: value }, as(resourceServer)),
      ],
      ['invalid_scope', 'insufficient_scope', '', () => get('/userinfo', headers)],
    ]);
  });

  test('and the message of the library, but no text of the caller', async () => {
    const claims = '{"aSecretOfTheCaller';
    const replies = [await authorize({ scope: 'openid', claims }), await token(refreshing('x'))];
    const lines = await linesOf(system, replies);
    expect(lines.map((line) => line.finding)).toEqual([
      'could not parse the claims parameter JSON',
      'refresh token not found',
    ]);
    expect(JSON.stringify(lines)).not.toContain('aSecretOfTheCaller');
  });

  test('of a page that fails', async () => {
    const visitor = createPageVisitor();
    const page = await openSignIn(visitor);
    const signIn = (fields: Fields) => visitor.submit(page, { ...alice, ...fields });
    const enter = async (user_code: string) =>
      visitor.submit(await visitor.get(`${issuer}/device`), { user_code });
    const crossSite = { 'sec-fetch-site': 'cross-site' };
    await expectReasons([
      ['not_found', 'notFound', '', () => get('/nothing')],
      ['method_not_allowed', 'methodNotAllowed', '', () => post('/', {}, {})],
      ['cookies_missing', 'cookiesBlocked', '', () => get('/sign-in/unknown')],
      ['sign_in_expired', 'signInExpired', '', () => get('/sign-in/unknown', { cookie: 'a=b' })],
      ['cookies_missing', 'cookiesNeeded', '', () => get('/account/signed-in')],
      [REFUSED, 'formRefused', '', () => post('/account/revoke', {}, {})],
      [REFUSED, 'formRefused', '', () => post('/account/revoke', {}, crossSite)],
      ['password_wrong', 'signInFailed', 'web', () => signIn({ password: 'wrong' })],
      ['user_unknown', 'signInFailed', 'web', () => signIn({ username: 'nobody' })],
      ['account_disabled', 'signInFailed', 'web', () => signIn(blocked)],
      [REFUSED, 'formRefused', 'web', () => signIn({ csrf: 'x' })],
      [REFUSED, 'badRequest', '', () => signIn({ username: 'a'.repeat(40_000) })],
      ['invalid_request', IR, '', () => post('/device', { user_code: 'x' }, {})],
      ['user_code_invalid', 'NotFoundError', '', () => enter('CCCC-CCCC')],
      ['user_code_invalid', 'NoCodeError', '', () => enter('')],
    ]);
  });

  test('of a client whose wrong secrets reached the limit', async () => {
    const wrong = () => token(machineGrant, as({ ...machine, secureKey: 'wrong' }));
    for (let i = 0; i < failedSecretLimit.attempts; i += 1) {
      await wrong();
    }
    await expectReasons([['client_secret_limit', 'too_many_requests', 'machine', wrong]]);
  });
});

const SECRET = 'valueThatNoReplyRepeats';
const grantInQuery = 'grant_type was sent in the query. Send it in the form body.';
test.each<[string, string, string, Fields, Fields?]>([
  ['a parameter in the query', grantInQuery, `/token?grant_type=${SECRET}`, {}],
  [
    'a parameter in the query of the platform endpoint',
    grantInQuery,
    `/platform/oauth2/token?grant_type=${SECRET}`,
    {},
  ],
  [
    'the client id in the query',
    'client_id was sent in the query. Send it in the form body.',
    `/token?client_id=${SECRET}`,
    machineGrant,
    {},
  ],
  [
    'JSON instead of a form',
    `The body is JSON. Send ${FORM} in UTF-8.`,
    '/token',
    { x: SECRET },
    asJson,
  ],
])(
  'the reply names a mistake that is evident from the request: %s',
  async (_mistake, description, path, fields, ...[headers]) => {
    const { body } = await post(path, fields, headers);
    expect(body).toMatchObject({ error_description: description });
    expect(JSON.stringify(body)).not.toContain(SECRET);
  },
);
