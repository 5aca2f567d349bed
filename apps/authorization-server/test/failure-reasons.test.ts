/**
 * The log line of a failed request names the reason, the code and the registered client.
 * src/token/transport.test.ts has the table of transport errors.
 */
import { request as sendRaw } from 'node:http';
import { createPageVisitor, type VisitedPage } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { failedSecretLimit } from '../src/throttle/limits.ts';
import { alice, blocked, machine, resourceServer, web } from './installation.ts';
import {
  as,
  asWeb,
  type Fields,
  linesOf,
  machineGrant,
  type Reply,
  refreshing,
  startServers,
} from './server.ts';

const FORM = 'application/x-www-form-urlencoded';
const system = await startServers();
const { authorize, get, issuer, openSignIn, post, token, tokensFor } = system.first;

/** Sends bytes without the headers that fetch adds. */
function raw(headers: Fields, body: string, path = '/token') {
  return new Promise<{ headers: Headers }>((resolve, reject) => {
    const length = String(Buffer.byteLength(body));
    const options = { method: 'POST', headers: { ...headers, 'content-length': length } };
    const sent = sendRaw(issuer + path, options, (reply) => {
      reply.resume();
      const requestId = String(reply.headers['x-request-id']);
      resolve({ headers: new Headers({ 'x-request-id': requestId }) });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

type Sent = Reply | VisitedPage | { readonly headers: Headers };
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
  ['invalid_grant', 'invalid_grant', 'web', () => token(refreshing('x'))],
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
