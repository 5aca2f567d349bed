/**
 * The log line of a failed request names the reason, the code and the registered client. The table
 * of transport errors is in src/client-endpoints/transport.test.ts.
 */
import { request as sendRaw } from 'node:http';
import { createPageVisitor, type VisitedPage } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { failedSecretLimit } from '../src/throttle/limits.ts';
import { linesOf } from './failure-log.ts';
import { alice, authorizationUrl, basic, resourceServer, web } from './fixtures.ts';
import { signInAsAlice, startGrantsSystem } from './grants-fixtures.ts';

const FORM = 'application/x-www-form-urlencoded';
const asWeb = basic(web.clientId, web.secureKey);
const machine = { grant_type: 'client_credentials' };

const system = await startGrantsSystem('sqlite', {}, 1);
const issuer = system.first;

type Headers = Readonly<Record<string, string>>;
type Fields = Readonly<Record<string, string>>;

/** Posts a form. The header `authorization` is empty for none. */
function post(path: string, fields: Fields, authorization = asWeb, headers: Headers = {}) {
  return fetch(issuer + path, {
    method: 'POST',
    redirect: 'manual',
    headers: { ...(authorization && { authorization }), ...headers },
    body: new URLSearchParams(fields),
  });
}

/** Sends bytes without the headers that fetch adds. Resolves to the id of the request. */
function raw(headers: Record<string, string | string[]>, body: string, path = '/token') {
  return new Promise<string>((resolve, reject) => {
    const length = String(Buffer.byteLength(body));
    const options = { method: 'POST', headers: { ...headers, 'content-length': length } };
    const sent = sendRaw(issuer + path, options, (reply) => {
      reply.resume();
      resolve(String(reply.headers['x-request-id']));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const get = (path: string, headers: Headers = {}) =>
  fetch(issuer + path, { redirect: 'manual', headers });
const authorize = (parameters: Fields) =>
  fetch(authorizationUrl(issuer, parameters), { redirect: 'manual' });

type Sent = Response | VisitedPage | string;
type Case = readonly [reason: string, code: string, clientId: string, send: () => Promise<Sent>];

/** Sends the requests, and compares the log lines. */
async function expectReasons(cases: readonly Case[]): Promise<void> {
  const sent: string[] = [];
  for (const [, , , send] of cases) {
    const reply = await send();
    await expectPlainDescription(reply);
    sent.push(typeof reply === 'string' ? reply : (reply.headers.get('x-request-id') ?? ''));
  }
  const lines = await linesOf(system, sent);
  expect(lines.map((line) => [line?.reason, line?.code, line?.clientId ?? ''])).toEqual(
    cases.map(([reason, code, clientId]) => [reason, code, clientId]),
  );
}

/** RFC 6749 §5.2 and §4.1.2.1 allow these characters in `error_description`. */
async function expectPlainDescription(reply: Sent): Promise<void> {
  if (!(reply instanceof Response)) {
    return;
  }
  const text = await reply.text();
  const isJson = reply.headers.get('content-type')?.startsWith('application/json') === true;
  const { error_description: ofBody = '' } = isJson && text !== '' ? JSON.parse(text) : {};
  const location = URL.parse(reply.headers.get('location') ?? '');
  const description = location?.searchParams.get('error_description') ?? ofBody;
  expect(description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/);
}

const IR = 'invalid_request';
const IC = 'invalid_client';

describe('The log names the reason', () => {
  test('of a malformed request to a client endpoint', () =>
    expectReasons([
      ['method_not_allowed', IR, '', () => get('/token')],
      ['not_found', IR, '', () => post('/token/', machine)],
      ['parameter_misplaced', IR, web.clientId, () => post('/token?client_secret=x', machine)],
      ['body_type_wrong', IR, web.clientId, () => raw({ authorization: asWeb }, 'grant_type=x')],
      ['body_type_wrong', IC, '', () => raw({}, 'grant_type=x')],
      [
        'invalid_request',
        IR,
        '',
        () => raw({ 'content-type': 'application/json' }, '{"code":1}', '/platform/oauth2/token'),
      ],
      [
        'parameter_misplaced',
        IR,
        web.clientId,
        () => post('/token?grant_type=client_credentials', {}),
      ],
      ['parameter_misplaced', IC, '', () => post('/token?client_id=web', machine, '')],
      [
        'invalid_request',
        IR,
        web.clientId,
        () => raw({ authorization: asWeb, 'content-type': FORM }, 'grant_type=a&grant_type=b'),
      ],
    ]));

  test('of a failed client authentication', () =>
    expectReasons([
      ['client_authentication_malformed', IC, '', () => post('/token', machine, 'Bearer x')],
      ['client_authentication_malformed', IC, '', () => post('/introspect', { token: 'x' }, '')],
      [
        'client_authentication_malformed',
        IC,
        '',
        () => post('/token', { ...machine, client_assertion: 'x.y.z' }, ''),
      ],
      ['client_unknown', IC, '', () => post('/token', machine, basic('unknown', 'x'))],
      ['client_disabled', IC, 'disabled', () => post('/token', machine, basic('disabled', 'x'))],
      ['client_secret_wrong', IC, web.clientId, () => post('/token', machine, basic('web', 'x'))],
      [
        'client_secret_wrong',
        IC,
        web.clientId,
        () => post('/revoke', { token: 'x' }, basic('web', 'x')),
      ],
      [
        'invalid_client',
        IC,
        web.clientId,
        () => post('/token', { ...machine, client_id: 'web' }, ''),
      ],
    ]));

  test('of a request that the library rejects, at each endpoint', async () => {
    const { access_token: token } = await signInAsAlice(issuer, 'device:read');
    const asResources = basic(resourceServer.clientId, resourceServer.secureKey);
    await expectReasons([
      [
        'unauthorized_client',
        'unsupported_grant_type',
        web.clientId,
        () => post('/token', { grant_type: 'x' }),
      ],
      [
        'invalid_scope',
        'invalid_scope',
        web.clientId,
        () => post('/token', { ...machine, scope: 'a"b' }),
      ],
      [
        'invalid_grant',
        'invalid_grant',
        web.clientId,
        () => post('/token', { grant_type: 'refresh_token', refresh_token: 'x' }),
      ],
      [
        'invalid_request',
        IR,
        resourceServer.clientId,
        () => post('/revoke', { token }, asResources),
      ],
      ['invalid_token', 'invalid_token', '', () => get('/userinfo')],
      [
        'invalid_scope',
        'insufficient_scope',
        '',
        () => get('/userinfo', { authorization: `Bearer ${token}` }),
      ],
      ['client_unknown', IC, '', () => authorize({ client_id: 'unknown' })],
      ['client_disabled', IC, 'disabled', () => authorize({ client_id: 'disabled' })],
      [
        'invalid_redirect_uri',
        'invalid_redirect_uri',
        'web',
        () => authorize({ redirect_uri: `${web.redirectUri}/` }),
      ],
      ['login_required', 'login_required', 'web', () => authorize({ prompt: 'none' })],
      ['invalid_request', IR, 'web', () => authorize({ state: 'x'.repeat(5000) })],
      ['invalid_request', IR, '', () => get('/logout?id_token_hint=x')],
    ]);
  });

  test('and the message of the library, but no text of the caller', async () => {
    const claims = '{"aSecretOfTheCaller';
    const replies = [
      await authorize({ scope: 'openid', claims }),
      await post('/token', { grant_type: 'refresh_token', refresh_token: 'x' }),
    ];
    const lines = await linesOf(
      system,
      replies.map(({ headers }) => headers.get('x-request-id')),
    );
    expect(lines.map((line) => line?.finding)).toEqual([
      'could not parse the claims parameter JSON',
      'refresh token not found',
    ]);
    expect(JSON.stringify(lines)).not.toContain('aSecretOfTheCaller');
  });

  test('of a page that fails', async () => {
    const openSignIn = async () => {
      const visitor = createPageVisitor();
      let page = await visitor.get(authorizationUrl(issuer));
      while (page.location !== undefined) {
        page = await visitor.get(page.location);
      }
      return { visitor, page };
    };
    const { visitor, page } = await openSignIn();
    const signIn = (username: string, password: string, headers: Headers = {}) =>
      visitor.submit(page, { username, password }, headers);
    await expectReasons([
      ['not_found', 'notFound', '', () => get('/nothing')],
      ['method_not_allowed', 'methodNotAllowed', '', () => post('/', {}, '')],
      ['cookies_missing', 'cookiesBlocked', '', () => get('/sign-in/unknown')],
      ['sign_in_expired', 'signInExpired', '', () => get('/sign-in/unknown', { cookie: 'a=b' })],
      ['cookies_missing', 'cookiesNeeded', '', () => get('/account/signed-in')],
      ['form_refused', 'formRefused', '', () => post('/account/revoke', {}, '')],
      [
        'form_refused',
        'formRefused',
        '',
        () => post('/account/revoke', {}, '', { 'sec-fetch-site': 'cross-site' }),
      ],
      ['password_wrong', 'signInFailed', web.clientId, () => signIn(alice.username, 'wrong')],
      ['user_unknown', 'signInFailed', web.clientId, () => signIn('nobody', 'wrong')],
      [
        'account_disabled',
        'signInFailed',
        web.clientId,
        () => signIn('blocked', 'a password of blocked'),
      ],
      [
        'form_refused',
        'formRefused',
        web.clientId,
        () => visitor.submit(page, { username: alice.username, password: 'x', csrf: 'x' }),
      ],
      ['form_refused', 'badRequest', '', () => signIn('a'.repeat(40_000), 'x')],
      ['invalid_request', IR, '', () => post('/device', { user_code: 'x' }, '')],
    ]);
    const enter = async (code: string) =>
      visitor.submit(await visitor.get(`${issuer}/device`), { user_code: code });
    await expectReasons([
      ['user_code_invalid', 'NotFoundError', '', () => enter('CCCC-CCCC')],
      ['user_code_invalid', 'NoCodeError', '', () => enter('')],
    ]);
  });

  test('of a client whose wrong secrets reached the limit', async () => {
    const wrong = () => post('/token', machine, basic('other', 'wrong'));
    for (let i = 0; i < failedSecretLimit.attempts; i += 1) {
      await wrong();
    }
    await expectReasons([['client_secret_limit', 'too_many_requests', 'other', wrong]]);
  });
});

describe('The reply names a mistake that is evident from the request:', () => {
  const SECRET = 'valueThatNoReplyRepeats';
  const json = { 'content-type': 'application/json' };
  const send = (path: string, headers: Headers, body: string) =>
    fetch(issuer + path, { method: 'POST', headers, body });

  test.each<[string, string, () => Promise<Response>]>([
    [
      'a parameter in the query',
      'grant_type was sent in the query. Send it in the form body.',
      () => post(`/token?grant_type=${SECRET}`, {}),
    ],
    [
      'a parameter in the query of the platform endpoint',
      'grant_type was sent in the query. Send it in the form body.',
      () => post(`/platform/oauth2/token?grant_type=${SECRET}`, {}),
    ],
    [
      'the client id in the query',
      'client_id was sent in the query. Send it in the form body.',
      () => post(`/token?client_id=${SECRET}`, machine, ''),
    ],
    [
      'JSON instead of a form',
      `The body is JSON. Send ${FORM} in UTF-8.`,
      () => send('/token', json, JSON.stringify({ client_secret: SECRET })),
    ],
  ])('%s', async (_mistake, description, request) => {
    const reply = await request();
    const text = await reply.text();
    expect(JSON.parse(text)).toMatchObject({ error_description: description });
    expect(text).not.toContain(SECRET);
  });
});
