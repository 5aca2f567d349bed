// requires: redis-server
/** What a client that authenticated learns about a rejected code or token, and what all others learn. */

import { failureReasons } from '@gatehouse/errors';
import { newPkce, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import {
  alice,
  blocked,
  box,
  browserApp,
  DEVICE_GRANT,
  disabled,
  full,
  web,
} from './installation.ts';
import {
  as,
  asWeb,
  type Fields,
  linesOf,
  type Reply,
  redeeming,
  refreshing,
  startOnEngines,
} from './server.ts';

const GENERIC = 'grant request is invalid';
const asFull = as(full);
const { verifier, pkce } = newPkce();
const textOf = (finding: string) =>
  `The check failed: ${finding}. ${failureReasons.invalid_grant.fix}`;

const FOREIGN = 'client mismatch';
const REVOKED = 'revoked with its user, client, secure key or consent';

const systems = await startOnEngines();

describe.each(systems)('on $engine', ({ system }) => {
  const { authorize, connectDevice, isActive, newCode, platform, redeem, startDevice, token } =
    system.first;
  const refresh = (value: string, headers = asWeb) => token(refreshing(value), headers);

  /** What the last test expects in the log, because a line is written with a delay. */
  const explained: { reply: Reply; finding: string; clientId: string }[] = [];

  /** The reply names the failed check, and so does the log line, with the client. */
  function expectFinding(
    reply: Reply,
    finding: string,
    { clientId } = web as { clientId: string },
  ) {
    expect([reply.status, reply.body]).toEqual([
      400,
      { error: 'invalid_grant', error_description: textOf(finding) },
    ]);
    // The name of the other client is not told.
    expect(finding !== FOREIGN || !JSON.stringify(reply.body).includes(web.clientId)).toBe(true);
    explained.push({ reply, finding, clientId });
  }

  test('a client learns that a code is unknown or used, and a foreign client that it is foreign', async () => {
    expectFinding(await redeem('unknown'), 'authorization code not found');
    const code = await newCode();
    expectFinding(await redeem(code, {}, asFull), FOREIGN, full);
    const first = await redeem(code);
    expect(first.status).toBe(200);
    expectFinding(await redeem(code, {}, asFull), FOREIGN, full);
    expectFinding(await redeem(code), 'authorization code already consumed');
    expect(await isActive(first.body.access_token)).toBe(false);
    expectFinding(await redeem(code), 'authorization code not found');
  });

  test('a client learns that a code was presented too often, and a foreign client does not', async () => {
    const code = await newCode();
    for (let i = 0; i < 6; i += 1) {
      await redeem(code, { redirect_uri: 'https://wrong.example' });
    }
    expectFinding(await redeem(code, {}, asFull), FOREIGN, full);
    expectFinding(await redeem(code), 'authorization code presented too often');
    const { redirect_uri: _omitted, ...withoutUri } = redeeming(await newCode());
    expectFinding(await token(withoutUri, asFull), FOREIGN, full);
  });

  test.each<[string, Fields, Fields]>([
    ['code_verifier must be provided', pkce, {}],
    ['code_verifier does not match code_challenge', pkce, { code_verifier: 'v'.repeat(43) }],
    ['unsupported code_challenge_method', {}, { code_verifier: verifier }],
    ['authorization code redirect_uri mismatch', {}, { redirect_uri: `${web.redirectUri}/` }],
  ])('a client learns %s', async (finding, authorization, fields) => {
    expectFinding(await redeem(await newCode(authorization), fields), finding);
  });

  test('a client learns whether a refresh token is unknown, used or foreign', async () => {
    expectFinding(await refresh('unknown'), 'refresh token not found');
    const { refresh_token: first } = (await redeem(await newCode())).body;
    expectFinding(await refresh(first, asFull), FOREIGN, full);
    const { body } = await refresh(first);
    await refresh(body.refresh_token);
    expectFinding(await refresh(first), 'refresh token already used');
  });

  test('a client learns that a code or refresh token was revoked, and a foreign client does not', async () => {
    const code = await newCode();
    const { refresh_token: value, access_token: access } = (await redeem(await newCode())).body;
    const { users } = system.identity;
    const userId = (await users.findByUsername(alice.username))?.userId ?? '';
    const notBefore = Math.floor(Date.now() / 1000);
    await users.update(userId, (user) => ({ ...user, notBefore }));
    await until(async () => !(await isActive(access)));
    expectFinding(await redeem(code), REVOKED);
    expectFinding(await redeem(code, {}, asFull), FOREIGN, full);
    expectFinding(await refresh(value), REVOKED);
    expectFinding(await refresh(value, asFull), FOREIGN, full);
    // The codes of the next tests must not be revoked.
    await until(() => Date.now() >= (notBefore + 1) * 1000);
  });

  test('a device with a secret learns whether its code is unknown, foreign or used', async () => {
    const poll = ({ device_code = '' }) =>
      token({ grant_type: DEVICE_GRANT, device_code }, as(box));
    expectFinding(await poll({ device_code: 'unknown' }), 'device code not found', box);
    expectFinding(await poll(await startDevice()), FOREIGN, box);
    const device = await startDevice({ client_id: box.clientId }, as(box));
    await connectDevice(device);
    expect((await poll(device)).status).toBe(200);
    expectFinding(await poll(device), 'device code already consumed', box);
  });

  test('the platform endpoint gives the same explanation in its format', async () => {
    const { status, body } = await platform(redeeming('unknown'), asWeb);
    const text = textOf('authorization code not found');
    const error = { error: 'invalid_grant', error_description: text };
    const envelope = { status: 400, code: 'illegal_argument', message: text };
    expect([status, body]).toEqual([400, expect.objectContaining({ ...error, ...envelope })]);
  });

  test('the error page does not tell the registered redirect URI', async () => {
    const page = await authorize({ redirect_uri: 'https://app.example:8443/callback' });
    expect([page.status, page.body]).toEqual([
      400,
      expect.stringContaining('redirect_uri did not match'),
    ]);
    expect(page.body).not.toContain(web.redirectUri);
    const [line] = await linesOf(system, [page]);
    expect(line).toMatchObject({ reason: 'invalid_redirect_uri', clientId: web.clientId });
  });

  /** Callers that did not prove a secret get the same reply for every cause. Only the log differs. */
  test.each<[string, (code: string) => readonly Promise<Reply>[], object, readonly object[]]>([
    [
      'a public client',
      (code) => {
        const { clientId: client_id, redirectUri: redirect_uri } = browserApp;
        const ofApplication = { client_id, redirect_uri };
        return [
          redeem('unknown', ofApplication, {}),
          redeem(code, { ...ofApplication, code_verifier: verifier }, {}),
          redeem(code, { client_id }, {}),
        ];
      },
      { error: 'invalid_grant', error_description: GENERIC },
      [{ finding: 'authorization code not found' }, { finding: FOREIGN }, { finding: FOREIGN }],
    ],
    [
      'a client that does not authenticate',
      (code) =>
        [{ ...web, clientId: 'unknown' }, disabled, { ...web, secureKey: 'wrong' }].map((client) =>
          redeem(code, {}, as(client)),
        ),
      { error: 'invalid_client', error_description: expect.any(String) },
      [
        { reason: 'client_unknown' },
        { reason: 'client_disabled', clientId: disabled.clientId },
        { reason: 'client_secret_wrong', clientId: web.clientId },
      ],
    ],
    [
      'a wrong user name or password',
      () =>
        [
          { username: 'nobody-at-all', password: 'a password of nobody' },
          { ...alice, password: 'wrong password' },
          blocked,
        ].map((user) => token({ grant_type: 'password', ...user }, asFull)),
      { error: 'invalid_grant', error_description: GENERIC },
      [{ reason: 'user_unknown' }, { reason: 'password_wrong' }, { reason: 'account_disabled' }],
    ],
  ])(
    '%s gets the same reply for every cause, which is in the log',
    async (_who, act, body, logged) => {
      const code = await newCode();
      const replies = await Promise.all(act(code));
      expect(replies.map((reply) => reply.body)).toEqual(replies.map(() => body));
      expect(new Set(replies.map((reply) => JSON.stringify(reply.body))).size).toBe(1);
      expect(await linesOf(system, replies)).toMatchObject(logged);
      expect((await redeem(code)).status).toBe(200);
      expect(await system.output()).not.toContain('nobody-at-all');
    },
  );

  test('the log names the check and the client of every explained reply', async () => {
    const lines = await linesOf(
      system,
      explained.map(({ reply }) => reply),
    );
    expect(lines).toMatchObject(
      explained.map(({ finding, clientId }) => ({
        ...{ code: 'invalid_grant', finding, clientId },
        reason: finding === 'refresh token not found' ? 'refresh_token_unknown' : 'invalid_grant',
      })),
    );
  });
});
