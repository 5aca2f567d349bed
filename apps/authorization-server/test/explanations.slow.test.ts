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

function textOf(finding: string): string {
  return `The check failed: ${finding}. ${failureReasons.invalid_grant.fix}`;
}

const FOREIGN = 'client mismatch';
const REVOKED = 'revoked with its user, client, secure key or consent';

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
  const explained: { id: string | null; finding: string; clientId: string }[] = [];

  /** The reply names the failed check, and so does the log line, with the client. */
  function expectFinding({ status, headers, body }: TokenReply, finding: string, clientId: string) {
    expect([status, body]).toEqual([
      400,
      { error: 'invalid_grant', error_description: textOf(finding) },
    ]);
    explained.push({ id: headers.get('x-request-id'), finding, clientId });
  }

  test('A client learns that a code is unknown.', async () => {
    expectFinding(await redeem('unknown'), 'authorization code not found', web.clientId);
  });

  test('A client learns that a code was used, and the second use revokes the tokens.', async () => {
    const code = await newCode();
    const first = await redeem(code);
    expect(first.status).toBe(200);
    expectFinding(await redeem(code), 'authorization code already consumed', web.clientId);
    expect(await isActive(issuer, first.body.access_token, asWeb.authorization)).toBe(false);
    expectFinding(await redeem(code), 'authorization code not found', web.clientId);
  });

  test('A client learns that a code belongs to another client, but not to which one.', async () => {
    const code = await newCode();
    const reply = await redeem(code, {}, asFull);
    expectFinding(reply, FOREIGN, full.clientId);
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
    expectFinding(reply, FOREIGN, full.clientId);
    for (const code of [used, exhausted]) {
      expectFinding(await redeem(code, {}, asFull), FOREIGN, full.clientId);
    }
    expectFinding(await redeem(exhausted), 'authorization code presented too often', web.clientId);
  });

  test.each<[string, Record<string, string>, Record<string, string>]>([
    ['code_verifier must be provided', pkce, {}],
    [
      'code_verifier does not match code_challenge',
      pkce,
      { code_verifier: randomBytes(32).toString('base64url') },
    ],
    ['unsupported code_challenge_method', {}, { code_verifier: verifier }],
  ])('A client learns %s.', async (finding, authorization, token) => {
    expectFinding(await redeem(await newCode(authorization), token), finding, web.clientId);
  });

  test('A client learns that the redirect URI differs.', async () => {
    const reply = await redeem(await newCode(), { redirect_uri: `${web.redirectUri}/` });
    expectFinding(reply, 'authorization code redirect_uri mismatch', web.clientId);
  });

  test('A client learns whether a refresh token is unknown, used, foreign or revoked.', async () => {
    const refresh = (token: string, headers = asWeb) =>
      requestToken(issuer, refreshing(token), headers);
    expectFinding(await refresh('unknown'), 'refresh token not found', web.clientId);

    const { refresh_token: first } = await signInAsAlice(issuer);
    const foreign = await refresh(first, asFull);
    expectFinding(foreign, FOREIGN, full.clientId);
    expect(JSON.stringify(foreign.body)).not.toContain(web.clientId);
    const { body } = await refresh(first);
    await refresh(body.refresh_token);
    expectFinding(await refresh(first), 'refresh token already used', web.clientId);
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
    expectFinding(await redeem(code), REVOKED, web.clientId);
    expectFinding(await redeem(code, {}, asFull), FOREIGN, full.clientId);
    const refresh = (headers: typeof asWeb) => requestToken(issuer, refreshing(token), headers);
    expectFinding(await refresh(asWeb), REVOKED, web.clientId);
    expectFinding(await refresh(asFull), FOREIGN, full.clientId);
    // The codes of the next tests must not be revoked.
    await until(() => Date.now() >= (notBefore + 1) * 1000);
  });

  test('A device with a secret learns whether its code is unknown, foreign or used.', async () => {
    const asBox = { authorization: basic(box.clientId, box.secureKey) };
    const poll = (code: string) =>
      requestToken(issuer, { grant_type: DEVICE_GRANT, device_code: code }, asBox);
    expectFinding(await poll('unknown'), 'device code not found', box.clientId);
    const foreign = await startDevice(issuer, { client_id: 'tv' });
    expectFinding(await poll(foreign.device_code), FOREIGN, box.clientId);
    const device = await startDevice(issuer, {
      client_id: box.clientId,
      client_secret: box.secureKey,
    });
    await connectDevice(device);
    expect((await poll(device.device_code)).status).toBe(200);
    expectFinding(await poll(device.device_code), 'device code already consumed', box.clientId);
  });

  test('The platform endpoint gives the same explanation in its format.', async () => {
    const reply = await requestPlatformToken(issuer, {
      grant_type: 'authorization_code',
      client_id: web.clientId,
      client_secret: web.secureKey,
      code: 'unknown',
      redirect_uri: web.redirectUri,
    });
    const text = textOf('authorization code not found');
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

  describe('to callers that did not prove a secret', () => {
    test('the error page does not tell the registered redirect URI.', async () => {
      const url = authorizationUrl(issuer, { redirect_uri: 'https://app.example:8443/callback' });
      const reply = await fetch(url, { redirect: 'manual' });
      const page = await reply.text();
      expect(reply.status).toBe(400);
      expect(page).toContain('redirect_uri did not match');
      expect(page).not.toContain(web.redirectUri);
      const [line] = await linesOf(system, [reply.headers.get('x-request-id')]);
      expect(line).toMatchObject({ reason: 'invalid_redirect_uri', clientId: web.clientId });
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
      expect(lines.map((line) => line?.finding)).toEqual([
        'authorization code not found',
        FOREIGN,
        FOREIGN,
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

  test('The log names the check and the client of every explained reply.', async () => {
    const ids = explained.map(({ id }) => id);
    expect(await linesOf(system, ids)).toMatchObject(
      explained.map(({ finding, clientId }) => ({
        ...{ code: 'invalid_grant', reason: 'invalid_grant' },
        ...{ finding, clientId },
      })),
    );
  });
});
