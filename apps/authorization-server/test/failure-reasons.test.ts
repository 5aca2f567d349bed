/** Each endpoint fails in each way, and the log line names the reason and the registered client. */
import { request as sendRaw } from 'node:http';
import { createPageVisitor, type VisitedPage } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { failedSecretLimit } from '../src/throttle/limits.ts';
import { linesOf } from './failure-log.ts';
import {
  alice,
  authorizationUrl,
  basic,
  browserApp,
  implicitApp,
  resourceServer,
  web,
} from './fixtures.ts';
import { signInAsAlice, startGrantsSystem } from './grants-fixtures.ts';

const FORM = 'application/x-www-form-urlencoded';
const asWeb = basic(web.clientId, web.secureKey);
const asScopeless = basic('scopeless', 'scopelessKey0123456789');
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
const encoded = (text: string) => `Basic ${btoa(text)}`;

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
      ['oauth_method_wrong', IR, '', () => get('/token')],
      ['oauth_path_unknown', IR, '', () => post('/token/', machine)],
      ['oauth_method_wrong', IR, '', () => post('/jwks', {})],
      ['secret_in_query', IR, web.clientId, () => post('/token?client_secret=x', machine)],
      [
        'authorization_header_repeated',
        IR,
        web.clientId,
        () => raw({ authorization: [asWeb, asWeb], 'content-type': FORM }, 'grant_type=x'),
      ],
      [
        'oauth_body_compressed',
        IR,
        web.clientId,
        () => post('/token', machine, asWeb, { 'content-encoding': 'gzip' }),
      ],
      [
        'oauth_body_too_large',
        IR,
        web.clientId,
        () => post('/token', { scope: 'x'.repeat(60_000) }),
      ],
      ['oauth_body_type_wrong', IR, '', () => raw({ 'content-type': 'text/plain' }, 'a=b')],
      ['body_is_json', IR, '', () => raw({ 'content-type': 'application/json' }, '{}')],
      [
        'content_type_missing',
        IR,
        web.clientId,
        () => raw({ authorization: asWeb }, 'grant_type=x'),
      ],
      ['content_type_missing', IC, '', () => raw({}, 'grant_type=x')],
      ['content_type_missing', IR, '', () => raw({}, '{}', '/platform/oauth2/token')],
      [
        'oauth_json_invalid',
        IR,
        '',
        () => raw({ 'content-type': 'application/json' }, '{', '/platform/oauth2/token'),
      ],
      [
        'json_parameter_not_text',
        IR,
        '',
        () => raw({ 'content-type': 'application/json' }, '{"code":1}', '/platform/oauth2/token'),
      ],
      ['parameter_missing', IR, web.clientId, () => post('/token', {})],
      ['parameter_missing', IR, web.clientId, () => post('/revoke', {})],
      [
        'parameter_in_query',
        IR,
        web.clientId,
        () => post('/token?grant_type=client_credentials', {}),
      ],
      ['parameter_in_query', IC, '', () => post('/token?client_id=web', machine, '')],
      ['parameter_name_misspelled', IR, web.clientId, () => post('/token', { 'Grant-Type': 'x' })],
      [
        'parameter_name_misspelled',
        IR,
        web.clientId,
        () =>
          raw(
            { 'content-type': 'application/json', authorization: asWeb },
            '{"grantType":"client_credentials"}',
            '/platform/oauth2/token',
          ),
      ],
      [
        'parameter_repeated',
        IR,
        web.clientId,
        () => raw({ authorization: asWeb, 'content-type': FORM }, 'grant_type=a&grant_type=b'),
      ],
    ]));

  test('of a failed client authentication', () =>
    expectReasons([
      ['authorization_scheme_wrong', IC, '', () => post('/token', machine, 'Bearer x')],
      ['basic_not_base64', IC, '', () => post('/token', machine, 'Basic id:secret')],
      ['basic_not_utf8', IC, '', () => post('/token', machine, encoded('id:\xe9'))],
      ['basic_without_colon', IC, '', () => post('/token', machine, encoded('secret'))],
      [
        'client_assertion_unsupported',
        IC,
        '',
        () => post('/token', { ...machine, client_assertion: 'x.y.z' }, ''),
      ],
      ['basic_half_empty', IC, '', () => post('/token', machine, encoded(':secret'))],
      ['basic_not_form_encoded', IC, '', () => post('/token', machine, encoded('id:100%'))],
      ['client_authentication_missing', IC, '', () => post('/token', machine, '')],
      ['client_authentication_missing', IC, '', () => post('/introspect', { token: 'x' }, '')],
      [
        'client_authenticated_twice',
        IR,
        web.clientId,
        () => post('/token', { ...machine, client_secret: 'x' }),
      ],
      ['client_id_differs', IR, 'other', () => post('/token', { ...machine, client_id: 'other' })],
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
        'client_secret_missing',
        IC,
        web.clientId,
        () => post('/token', { ...machine, client_id: 'web' }, ''),
      ],
      [
        'client_secret_unexpected',
        IC,
        browserApp.clientId,
        () => post('/token', machine, basic(browserApp.clientId, 'x')),
      ],
    ]));

  test('of a rejected token request', () =>
    expectReasons([
      [
        'grant_type_unknown',
        'unsupported_grant_type',
        web.clientId,
        () => post('/token', { grant_type: 'x' }),
      ],
      [
        'grant_type_not_registered',
        'unauthorized_client',
        web.clientId,
        () => post('/token', { grant_type: 'password' }),
      ],
      [
        'grant_type_unknown',
        'unsupported_grant_type',
        'full',
        () =>
          post(
            '/platform/oauth2/token',
            { grant_type: 'password' },
            basic('full', 'fullKey0123456789abcd'),
          ),
      ],
      [
        'client_secret_needed',
        'unauthorized_client',
        'app',
        () => post('/token', { grant_type: 'password', client_id: 'app' }, ''),
      ],
      [
        'scope_malformed',
        'invalid_scope',
        web.clientId,
        () => post('/token', { ...machine, scope: 'a"b' }),
      ],
      [
        'scope_not_allowed',
        'invalid_scope',
        web.clientId,
        () => post('/token', { ...machine, scope: 'nothing' }),
      ],
      [
        'grant_type_not_registered',
        'unauthorized_client',
        'scopeless',
        () => post('/token', machine, asScopeless),
      ],
      [
        'grant_type_not_registered',
        IR,
        web.clientId,
        () => post('/device/auth', { client_id: web.clientId }),
      ],
      [
        'code_unknown',
        'invalid_grant',
        web.clientId,
        () => post('/token', { grant_type: 'authorization_code', code: 'x', redirect_uri: 'x' }),
      ],
      [
        'refresh_token_unknown',
        'invalid_grant',
        web.clientId,
        () => post('/token', { grant_type: 'refresh_token', refresh_token: 'x' }),
      ],
      [
        'device_code_unknown',
        'invalid_grant',
        'tv',
        () =>
          post(
            '/token',
            {
              grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
              client_id: 'tv',
              device_code: 'x',
            },
            '',
          ),
      ],
    ]));

  test('of a rejected revocation, introspection or userinfo request', async () => {
    const { access_token: token } = await signInAsAlice(issuer, 'device:read');
    const { id_token: idToken } = await signInAsAlice(issuer, 'openid');
    const asResources = basic(resourceServer.clientId, resourceServer.secureKey);
    await expectReasons([
      [
        'token_of_another_client',
        IR,
        resourceServer.clientId,
        () => post('/revoke', { token }, asResources),
      ],
      [
        'token_is_jwt',
        'unsupported_token_type',
        web.clientId,
        () => post('/revoke', { token: idToken }),
      ],
      [
        'client_secret_needed',
        IC,
        browserApp.clientId,
        () => post('/introspect', { token, client_id: browserApp.clientId }, ''),
      ],
      ['access_token_missing', 'invalid_token', '', () => get('/userinfo')],
      [
        'access_token_invalid',
        'invalid_token',
        '',
        () => get('/userinfo', { authorization: 'Bearer x' }),
      ],
      [
        'access_token_scope',
        'insufficient_scope',
        '',
        () => get('/userinfo', { authorization: `Bearer ${token}` }),
      ],
      ['access_token_twice', IR, '', () => get('/userinfo?access_token=x')],
      [
        'authorization_scheme_wrong',
        IR,
        web.clientId,
        () => get('/userinfo', { authorization: asWeb }),
      ],
      ['oauth_method_wrong', IR, '', () => fetch(`${issuer}/userinfo`, { method: 'PUT' })],
    ]);
  });

  test('of a rejected authorization request, pushed or not', () => {
    const push = (more: Fields) =>
      post('/par', {
        response_type: 'code',
        client_id: 'web',
        redirect_uri: web.redirectUri,
        ...more,
      });
    return expectReasons([
      ['client_unknown', IC, '', () => authorize({ client_id: 'unknown' })],
      ['client_disabled', IC, 'disabled', () => authorize({ client_id: 'disabled' })],
      [
        'redirect_uri_trailing_slash',
        'invalid_redirect_uri',
        'web',
        () => authorize({ redirect_uri: `${web.redirectUri}/` }),
      ],
      [
        'redirect_uri_other_host',
        'invalid_redirect_uri',
        'web',
        () => authorize({ redirect_uri: 'https://evil.example/callback' }),
      ],
      [
        'redirect_uri_other_scheme',
        IR,
        'web',
        () => push({ redirect_uri: 'http://app.example/callback' }),
      ],
      [
        'response_type_unsupported',
        'unsupported_response_type',
        'web',
        () => authorize({ response_type: 'x' }),
      ],
      [
        'response_type_not_registered',
        'unauthorized_client',
        'web',
        () => authorize({ response_type: 'token' }),
      ],
      [
        'response_mode_unsupported',
        'unsupported_response_mode',
        'web',
        () => authorize({ response_mode: 'x' }),
      ],
      ['parameter_missing', IR, 'web', () => authorize({ response_type: '' })],
      [
        'pkce_required',
        IR,
        browserApp.clientId,
        () => authorize({ client_id: browserApp.clientId, redirect_uri: browserApp.redirectUri }),
      ],
      [
        'pkce_method_wrong',
        IR,
        'web',
        () => authorize({ code_challenge: 'a'.repeat(43), code_challenge_method: 'plain' }),
      ],
      ['scope_not_allowed', 'invalid_scope', 'web', () => authorize({ scope: 'nothing' })],
      ['login_required', 'login_required', 'web', () => authorize({ prompt: 'none' })],
      ['parameter_invalid', IR, 'web', () => authorize({ prompt: 'none login' })],
      ['claims_parameter_invalid', IR, 'web', () => authorize({ scope: 'openid', claims: '[]' })],
      [
        'request_object_unsupported',
        'request_not_supported',
        'web',
        () => authorize({ request: 'x' }),
      ],
      [
        'pushed_request_unknown',
        'invalid_request_uri',
        'web',
        () => authorize({ request_uri: 'urn:ietf:params:oauth:request_uri:x' }),
      ],
      [
        'id_token_hint_invalid',
        IR,
        'web',
        () => authorize({ scope: 'openid', id_token_hint: 'x' }),
      ],
      ['parameters_too_long', IR, 'web', () => authorize({ state: 'x'.repeat(5000) })],
      ['parameters_too_long', IR, 'web', () => push({ state: 'x'.repeat(5000) })],
      [
        'openid_scope_missing',
        IR,
        implicitApp.clientId,
        () =>
          authorize({
            client_id: implicitApp.clientId,
            redirect_uri: implicitApp.redirectUri,
            response_type: 'id_token',
            scope: 'device:read',
            nonce: 'n',
          }),
      ],
      ['sign_in_expired', IR, '', () => get('/authorize/unknown')],
      ['id_token_hint_invalid', IR, '', () => get('/logout?id_token_hint=x')],
      [
        'post_logout_uri_unregistered',
        IR,
        'web',
        () => get('/logout?client_id=web&post_logout_redirect_uri=https://evil.example/'),
      ],
      ['form_token_invalid', IR, '', () => post('/logout/confirm', {}, '')],
    ]);
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
      ['page_unknown', 'notFound', '', () => get('/nothing')],
      ['page_method_wrong', 'methodNotAllowed', '', () => post('/', {}, '')],
      ['cookies_missing', 'cookiesBlocked', '', () => get('/sign-in/unknown')],
      ['sign_in_expired', 'signInExpired', '', () => get('/sign-in/unknown', { cookie: 'a=b' })],
      ['cookies_missing', 'cookiesNeeded', '', () => get('/account/signed-in')],
      ['form_token_invalid', 'formRefused', '', () => post('/account/revoke', {}, '')],
      [
        'form_of_another_site',
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
        'form_token_invalid',
        'formRefused',
        web.clientId,
        () => visitor.submit(page, { username: alice.username, password: 'x', csrf: 'x' }),
      ],
      ['page_form_unreadable', 'badRequest', '', () => signIn('a'.repeat(40_000), 'x')],
      ['form_token_invalid', IR, '', () => post('/device', { user_code: 'x' }, '')],
    ]);
    const enter = async (code: string) =>
      visitor.submit(await visitor.get(`${issuer}/device`), { user_code: code });
    await expectReasons([
      ['user_code_unknown', 'NotFoundError', '', () => enter('CCCC-CCCC')],
      ['user_code_missing', 'NoCodeError', '', () => enter('')],
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
  const bearer = 'The Authorization header of a client does not use the scheme Basic. ';
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
      'a similar name',
      'grant_type was sent under a similar name. Use exactly the name grant_type.',
      () => post('/token', { grantType: SECRET }),
    ],
    [
      'a similar name in JSON',
      'client_id was sent under a similar name. Use exactly the name client_id.',
      () => send('/platform/oauth2/token', json, JSON.stringify({ clientId: SECRET })),
    ],
    [
      'JSON instead of a form',
      `The body is JSON. Send ${FORM} in UTF-8.`,
      () => send('/token', json, JSON.stringify({ client_secret: SECRET })),
    ],
    [
      'a wrong scheme',
      `${bearer}Send Authorization: Basic, or the client id and secret in the form body.`,
      () => post('/token', machine, `Bearer ${SECRET}`),
    ],
    [
      'credentials in two places',
      'The request has client credentials both in the Authorization header and in the body. Send the credentials in one place. The header is better.',
      () => post('/token', { ...machine, client_secret: SECRET }),
    ],
  ])('%s', async (_mistake, description, request) => {
    const reply = await request();
    const text = await reply.text();
    expect(JSON.parse(text)).toMatchObject({ error_description: description });
    expect(text).not.toContain(SECRET);
  });
});
