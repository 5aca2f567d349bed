// requires: redis-server

/**
 * What a client that authenticated learns about a rejected code or token, and what all others
 * learn.
 */
import { createHash, randomBytes } from 'node:crypto';
import { failureReasons } from '@gatehouse/errors';
import { openIdentity } from '@gatehouse/identity';
import { authorizeAsUser, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { linesOf } from './failure-log.ts';
import { alice, authorizationUrl, basic, requestToken, type TokenReply, web } from './fixtures.ts';
import {
  box,
  full,
  isActive,
  refreshing,
  requestPlatformToken,
  signInAsAlice,
  startGrantsSystems,
} from './grants-fixtures.ts';
import { connectDevice, DEVICE_GRANT, startDevice } from './page-fixtures.ts';

const GENERIC = 'grant request is invalid';
const asWeb = { authorization: basic(web.clientId, web.secureKey) };
const asFull = { authorization: basic(full.clientId, full.secureKey) };
const verifier = randomBytes(32).toString('base64url');
const pkce = {
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
};

type ReasonName = keyof typeof failureReasons;

function textOf(reason: ReasonName): string {
  const { cause, fix } = failureReasons[reason];
  return `${cause} ${fix}`;
}

const systems = await startGrantsSystems({}, 1);

describe.each(systems)('explanations of rejected grants on $engine', ({ system }) => {
  const issuer = system.first;

  const newCode = async (parameters: Record<string, string> = {}) => {
    const landing = await authorizeAsUser(authorizationUrl(issuer, parameters), alice);
    return landing.searchParams.get('code') ?? '';
  };
  const redeem = (code: string, more: Record<string, string> = {}, headers = asWeb) =>
    requestToken(
      issuer,
      { grant_type: 'authorization_code', code, redirect_uri: web.redirectUri, ...more },
      headers,
    );

  /** What the last test expects in the log, because a line is written with a delay. */
  const explained: { id: string | null; reason: ReasonName; clientId: string }[] = [];

  /** The reply has the text of the reason, and the log line has its name and the client. */
  function expectReason(
    { status, headers, body }: TokenReply,
    reason: ReasonName,
    clientId: string,
  ) {
    expect([status, body]).toEqual([
      400,
      { error: 'invalid_grant', error_description: textOf(reason) },
    ]);
    explained.push({ id: headers.get('x-request-id'), reason, clientId });
  }

  test('A client learns that a code is unknown.', async () => {
    expectReason(await redeem('unknown'), 'code_unknown', web.clientId);
  });

  test('A client learns that a code was used, and the second use revokes the tokens.', async () => {
    const code = await newCode();
    const first = await redeem(code);
    expect(first.status).toBe(200);
    expectReason(await redeem(code), 'code_used', web.clientId);
    expect(await isActive(issuer, first.body.access_token, asWeb.authorization)).toBe(false);
    expectReason(await redeem(code), 'code_unknown', web.clientId);
  });

  test('A client learns that a code belongs to another client, but not to which one.', async () => {
    const code = await newCode();
    const reply = await redeem(code, {}, asFull);
    expectReason(reply, 'code_of_another_client', full.clientId);
    expect(JSON.stringify(reply.body)).not.toContain(web.clientId);
    expect((await redeem(code)).status).toBe(200);
  });

  test('A foreign client learns the same about a code in every state.', async () => {
    const used = await newCode();
    await redeem(used);
    const exhausted = await newCode();
    for (let i = 0; i < 6; i += 1) {
      await redeem(exhausted, { redirect_uri: 'https://wrong.example' });
    }
    const unused = await newCode();
    const withoutUri = { grant_type: 'authorization_code', code: unused };
    const reply = await requestToken(issuer, withoutUri, asFull);
    expectReason(reply, 'code_of_another_client', full.clientId);
    for (const code of [used, exhausted]) {
      expectReason(await redeem(code, {}, asFull), 'code_of_another_client', full.clientId);
    }
    expectReason(await redeem(exhausted), 'code_attempts_exhausted', web.clientId);
  });

  test.each<[ReasonName, Record<string, string>, Record<string, string>]>([
    ['code_verifier_missing', pkce, {}],
    ['code_verifier_wrong', pkce, { code_verifier: randomBytes(32).toString('base64url') }],
    ['code_verifier_unexpected', {}, { code_verifier: verifier }],
  ])('A client learns %s.', async (reason, authorization, token) => {
    expectReason(await redeem(await newCode(authorization), token), reason, web.clientId);
  });

  test.each<[ReasonName, string]>([
    ['redirect_uri_other_scheme', 'http://app.example/callback'],
    ['redirect_uri_other_host', 'https://www.app.example/callback'],
    ['redirect_uri_other_port', 'https://app.example:8443/callback'],
    ['redirect_uri_other_path', 'https://app.example/oauth/callback'],
    ['redirect_uri_other_query', 'https://app.example/callback?tenant=1'],
    ['redirect_uri_trailing_slash', 'https://app.example/callback/'],
    ['redirect_uri_letter_case', 'https://app.example/Callback'],
    ['redirect_uri_encoding', 'https://app.example:443/callback'],
    ['redirect_uri_differs', 'http://localhost:3000/'],
    ['redirect_uri_differs', 'not a URI'],
  ])('A client learns %s from %s.', async (reason, redirectUri) => {
    const reply = await redeem(await newCode(), { redirect_uri: redirectUri });
    expectReason(reply, reason, web.clientId);
  });

  test('A client learns whether a refresh token is unknown, used, foreign or revoked.', async () => {
    const refresh = (token: string, headers = asWeb) =>
      requestToken(issuer, refreshing(token), headers);
    expectReason(await refresh('unknown'), 'refresh_token_unknown', web.clientId);

    const { refresh_token: first } = await signInAsAlice(issuer);
    const foreign = await refresh(first, asFull);
    expectReason(foreign, 'refresh_token_of_another_client', full.clientId);
    expect(JSON.stringify(foreign.body)).not.toContain(web.clientId);
    const { body } = await refresh(first);
    await refresh(body.refresh_token);
    expectReason(await refresh(first), 'refresh_token_used', web.clientId);
  });

  test('A client learns that a code or refresh token was revoked. A foreign client does not.', async () => {
    const code = await newCode();
    const { refresh_token: token, access_token: accessToken } = await signInAsAlice(issuer);
    const { users } = openIdentity({ store: system.store, masterKey: randomBytes(32) });
    const user = await users.findByUsername(alice.username);
    const notBefore = Math.floor(Date.now() / 1000);
    await users.update(user?.userId ?? '', (each) => ({ ...each, notBefore }));
    const isRevoked = async () => !(await isActive(issuer, accessToken, asWeb.authorization));
    await until(isRevoked);
    expectReason(await redeem(code), 'code_revoked', web.clientId);
    expectReason(await redeem(code, {}, asFull), 'code_of_another_client', full.clientId);
    const refresh = (headers: typeof asWeb) => requestToken(issuer, refreshing(token), headers);
    expectReason(await refresh(asWeb), 'refresh_token_revoked', web.clientId);
    expectReason(await refresh(asFull), 'refresh_token_of_another_client', full.clientId);
    // The codes of the next tests must not be revoked.
    await until(() => Date.now() >= (notBefore + 1) * 1000);
  });

  test('A device with a secret learns whether its code is unknown, foreign or used.', async () => {
    const asBox = { authorization: basic(box.clientId, box.secureKey) };
    const poll = (code: string) =>
      requestToken(issuer, { grant_type: DEVICE_GRANT, device_code: code }, asBox);
    expectReason(await poll('unknown'), 'device_code_unknown', box.clientId);
    const foreign = await startDevice(issuer, { client_id: 'tv' });
    expectReason(await poll(foreign.device_code), 'device_code_of_another_client', box.clientId);
    const device = await startDevice(issuer, {
      client_id: box.clientId,
      client_secret: box.secureKey,
    });
    await connectDevice(device);
    expect((await poll(device.device_code)).status).toBe(200);
    expectReason(await poll(device.device_code), 'device_code_used', box.clientId);
  });

  test('The platform endpoint gives the same explanation in its format.', async () => {
    const reply = await requestPlatformToken(issuer, {
      grant_type: 'authorization_code',
      client_id: web.clientId,
      client_secret: web.secureKey,
      code: 'unknown',
      redirect_uri: web.redirectUri,
    });
    const text = textOf('code_unknown');
    expect([reply.status, reply.body]).toEqual([
      400,
      expect.objectContaining({
        error: 'invalid_grant',
        error_description: text,
        status: 400,
        code: 'illegal_argument',
        message: text,
      }),
    ]);
  });

  test('A confidential client learns how the redirect URI of a pushed request differs.', async () => {
    const push = (clientId: string, headers: Record<string, string>) =>
      fetch(`${issuer}/par`, {
        method: 'POST',
        headers,
        body: new URLSearchParams({
          response_type: 'code',
          client_id: clientId,
          redirect_uri: 'https://app.example:8443/callback',
          ...pkce,
        }),
      });
    const reply = await push(web.clientId, asWeb);
    expect([reply.status, await reply.json()]).toEqual([
      400,
      { error: 'invalid_request', error_description: textOf('redirect_uri_other_port') },
    ]);
    const anonymous = await push('browser-app', {});
    expect(await anonymous.json()).toMatchObject({
      error_description: "redirect_uri did not match any of the client's registered redirect_uris",
    });
  });

  describe('to callers that did not prove a secret', () => {
    test('the error page does not tell how a redirect URI differs. The log does.', async () => {
      const url = authorizationUrl(issuer, { redirect_uri: 'https://app.example:8443/callback' });
      const reply = await fetch(url, { redirect: 'manual' });
      const page = await reply.text();
      expect(reply.status).toBe(400);
      expect(page).toContain('redirect_uri did not match');
      expect(page).not.toContain('differs');
      expect(page).not.toContain(web.redirectUri);
      const [line] = await linesOf(system, [reply.headers.get('x-request-id')]);
      expect(line).toMatchObject({ reason: 'redirect_uri_other_port', clientId: web.clientId });
    });

    test('a public client gets the same sentence for every cause.', async () => {
      const asPublic = (code: string, more: Record<string, string> = {}) =>
        requestToken(
          issuer,
          {
            grant_type: 'authorization_code',
            client_id: 'browser-app',
            redirect_uri: 'https://browser.example/callback',
            code,
            ...more,
          },
          {},
        );
      const replies = [
        await asPublic('unknown'),
        await asPublic(await newCode(), { code_verifier: verifier }),
        await asPublic(await newCode(pkce), { redirect_uri: web.redirectUri }),
      ];
      expect(replies.map(({ body }) => body)).toEqual(
        replies.map(() => ({ error: 'invalid_grant', error_description: GENERIC })),
      );
      const lines = await linesOf(
        system,
        replies.map(({ headers }) => headers.get('x-request-id')),
      );
      expect(lines.map((line) => line?.reason)).toEqual([
        'code_unknown',
        'code_of_another_client',
        'code_of_another_client',
      ]);
    });

    test('unknown, disabled and wrong-secret clients get identical replies.', async () => {
      const callers = [
        basic('unknown', web.secureKey),
        basic('disabled', 'disabledKey0123456789'),
        basic(web.clientId, 'wrong'),
      ];
      const code = await newCode();
      const replies = await Promise.all(
        callers.map((authorization) => redeem(code, {}, { authorization })),
      );
      expect(new Set(replies.map(({ body }) => JSON.stringify(body))).size).toBe(1);
      const lines = await linesOf(
        system,
        replies.map(({ headers }) => headers.get('x-request-id')),
      );
      expect(lines.map((line) => [line?.reason, line?.clientId])).toEqual([
        ['client_unknown', undefined],
        ['client_disabled', 'disabled'],
        ['client_secret_wrong', web.clientId],
      ]);
      expect((await redeem(code)).status).toBe(200);
    });
  });

  test('No reply tells which part of a user name and password is wrong. The log does.', async () => {
    const tries = [
      ['nobody-at-all', 'a password of nobody'],
      [alice.username, 'wrong password'],
      ['blocked', 'a password of blocked'],
    ] as const;
    const replies = await Promise.all(
      tries.map(([username, password]) =>
        requestToken(issuer, { grant_type: 'password', username, password }, asFull),
      ),
    );
    expect(replies.map(({ body }) => body)).toEqual(
      tries.map(() => ({ error: 'invalid_grant', error_description: GENERIC })),
    );
    const lines = await linesOf(
      system,
      replies.map(({ headers }) => headers.get('x-request-id')),
    );
    expect(lines.map((line) => line?.reason)).toEqual([
      'user_unknown',
      'password_wrong',
      'account_disabled',
    ]);
    expect(await system.output()).not.toContain('nobody-at-all');
  });

  test('The log names the reason and the client of every explained reply.', async () => {
    const ids = explained.map(({ id }) => id);
    expect(await linesOf(system, ids)).toMatchObject(
      explained.map(({ reason, clientId }) => ({ code: 'invalid_grant', reason, clientId })),
    );
  });
});
