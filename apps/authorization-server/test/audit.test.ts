/** What the audit trail records of each action, once, and without secrets. */

import { accountLimit } from '@gatehouse/identity';
import { createPageVisitor, until } from '@gatehouse/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { advanceSeconds, startInProcess } from './in-process-server.ts';
import {
  alice,
  browserApp,
  DEVICE_GRANT,
  disabled,
  full,
  implicitApp,
  machine,
  tv,
  web,
} from './installation.ts';
import { as, asWeb, machineGrant, refreshing } from './server.ts';

const typedByMistake = 'hunter2-typed-as-the-username';
const server = await startInProcess();
const { connectDevice, issuer, land, newCode, open, openSignIn, platform, poll, redeem } = server;
const { revoke, startDevice, token, tokensFor } = server;
const { audit, users } = server.identity;
const userId = (await users.findByUsername(alice.username))?.userId;

const read = async () => {
  await audit.flush();
  return audit.read({ limit: 1000 });
};
const seen = new Set<string>();
beforeEach(async () => {
  for (const { id } of await read()) {
    seen.add(id);
  }
  // An entry counts equal events for some minutes.
  advanceSeconds(3600);
});

/** The members of an entry that a request caused. */
const request = {
  actor: 'authorization-server',
  address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
  requestId: expect.stringMatching(/^[\w-]{8,64}$/),
  id: expect.any(String),
  at: expect.any(String),
  severity: 'info',
  outcome: 'success',
};
const failure = { severity: 'warning', outcome: 'failure' };
const counted = (count: number) => ({ count, lastAt: expect.any(String) });
const ofWeb = { clientId: web.clientId, userId };
const anyScope = expect.stringContaining('device:read');
const grantId = expect.stringMatching(/^[\w-]{43}$/);
const signedIn = { event: 'sign_in_succeeded', method: 'page', ...ofWeb };
const issued = { event: 'token_issued', ...ofWeb, scope: anyScope };
const byCode = { ...issued, grant: 'authorization_code' };
const unauthenticated = { event: 'client_authentication_failed', ...failure, endpoint: 'token' };
const replay = { ...ofWeb, grantId, severity: 'alert', outcome: 'failure' };

const wrongly = (clientId: string, secureKey = 'wrong') =>
  token(machineGrant, as({ clientId, secureKey }));
const asFull = as(full);
const scope = 'device:read';
const ofUnknown = {
  ...{ ...failure, severity: 'noise', clientId: full.clientId },
  ...{ event: 'sign_in_failed', method: 'password_grant' },
};

const actions: readonly [string, () => Promise<unknown>, readonly object[]][] = [
  [
    'a token for a machine, with the address of the connection',
    () => token({ ...machineGrant, scope }, { ...asWeb, 'x-forwarded-for': '203.0.113.9' }),
    [{ ...issued, grant: 'client_credentials', userId: undefined, scope }],
  ],
  [
    'a token for a machine from the provider, to which the fast path leaves unknown parameters',
    () => token({ ...machineGrant, scope, unknown: '1' }),
    [{ ...issued, grant: 'client_credentials', userId: undefined, scope }],
  ],
  [
    'tokens of the platform endpoint, and a wrong secret there',
    async () => {
      const { body } = await platform(machineGrant, as(machine));
      await platform(refreshing(body.refresh_token, scope), as(machine));
      await platform(machineGrant, as({ ...machine, secureKey: 'wrong' }));
    },
    [
      { event: 'token_issued', grant: 'client_credentials', clientId: 'machine', scope: anyScope },
      { event: 'token_issued', grant: 'refresh_token', clientId: 'machine', scope },
      {
        ...unauthenticated,
        ...{ clientId: 'machine', endpoint: 'platform-token', reason: 'client_secret_wrong' },
      },
    ],
  ],
  [
    'sign-in, code, refresh and replay of the code',
    async () => {
      const code = await newCode();
      const { body } = await redeem(code);
      await token(refreshing(body.refresh_token));
      await redeem(code);
    },
    [
      signedIn,
      byCode,
      { ...issued, grant: 'refresh_token' },
      { ...replay, event: 'code_replayed' },
    ],
  ],
  [
    'the replay of a refresh token',
    async () => {
      const first = (await tokensFor()).refresh_token;
      const second = (await token(refreshing(first))).body.refresh_token;
      await token(refreshing(second));
      await token(refreshing(first));
    },
    [
      signedIn,
      byCode,
      { ...issued, grant: 'refresh_token', ...counted(2) },
      { ...replay, event: 'refresh_token_replayed' },
    ],
  ],
  [
    'a token of the implicit flow',
    () => {
      const { clientId: client_id, redirectUri: redirect_uri } = implicitApp;
      return land({ client_id, redirect_uri, response_type: 'token' });
    },
    [
      { ...signedIn, clientId: implicitApp.clientId },
      { ...issued, clientId: implicitApp.clientId, grant: 'implicit' },
    ],
  ],
  [
    'the sign-in and the token of a device',
    async () => {
      const device = await startDevice();
      await connectDevice(device);
      await poll(device);
    },
    [
      { ...signedIn, clientId: tv.clientId, method: 'device_code' },
      { ...issued, clientId: tv.clientId, grant: DEVICE_GRANT },
    ],
  ],
  [
    'the sign-in and the token of a password grant, and its failure',
    async () => {
      await token({ grant_type: 'password', ...alice, scope }, asFull);
      await token({ grant_type: 'password', ...alice, password: 'wrong password' }, asFull);
    },
    [
      { ...signedIn, clientId: full.clientId, method: 'password_grant' },
      { ...issued, clientId: full.clientId, grant: 'password', scope },
      {
        ...{ ...failure, clientId: full.clientId, userId },
        ...{ event: 'sign_in_failed', method: 'password_grant', reason: 'password_wrong' },
      },
    ],
  ],
  [
    'a failed sign-in without the typed text, and the user only if the account exists',
    async () => {
      const visitor = createPageVisitor();
      const page = await openSignIn(visitor);
      await visitor.submit(page, { ...alice, password: 'wrong password' });
      await visitor.submit(page, { username: typedByMistake, password: 'whatever it is' });
    },
    [
      { ...failure, ...ofWeb, event: 'sign_in_failed', method: 'page', reason: 'password_wrong' },
      {
        ...{ ...failure, severity: 'noise', clientId: web.clientId },
        ...{ event: 'sign_in_failed', method: 'page', reason: 'user_unknown' },
      },
    ],
  ],
  [
    'the lock of an account once, and the attempts while it is locked',
    async () => {
      for (let i = 0; i < accountLimit.attempts + 1; i += 1) {
        await token({ grant_type: 'password', username: 'locked', password: 'wrong' }, asFull);
      }
    },
    [
      { ...ofUnknown, event: 'account_locked', method: undefined },
      { ...ofUnknown, reason: 'user_unknown', ...counted(accountLimit.attempts) },
      { ...ofUnknown, reason: 'account_locked' },
    ],
  ],
  [
    'actions on the account page, and sign-outs',
    async () => {
      const visitor = createPageVisitor();
      const press = async (path: string, fields = {}) =>
        visitor.submit(await visitor.get(issuer + path), fields);
      await open(visitor, '/account');
      const wanted = 'another password';
      await press('/account/password', { current: 'not mine', wanted, repeated: wanted });
      await press('/logout', { logout: 'yes' });
      await open(visitor, '/account');
      await press('/account/sign-out-everywhere');
    },
    [
      { ...signedIn, clientId: 'gatehouse:account' },
      {
        ...{ ...failure, event: 'sign_in_failed', userId },
        ...{ method: 'account_page', reason: 'password_wrong' },
      },
      { event: 'sign_out', userId, everywhere: false },
      { ...signedIn, clientId: 'gatehouse:account' },
      { event: 'sign_out', userId, everywhere: true },
    ],
  ],
  [
    'failed client authentication, with registered clients only',
    async () => {
      await wrongly(web.clientId);
      await token({ ...machineGrant, client_id: web.clientId, client_secret: 'no' }, {});
      await token(machineGrant, as(disabled));
      await wrongly(web.secureKey, web.clientId);
      await token(machineGrant, { authorization: 'Basic ***' });
      await revoke('x', as({ ...web, secureKey: 'wrong' }));
    },
    [
      {
        ...unauthenticated,
        ...{ reason: 'client_secret_wrong', clientId: web.clientId, ...counted(2) },
      },
      { ...unauthenticated, reason: 'client_disabled', clientId: disabled.clientId },
      { ...unauthenticated, reason: 'client_unknown', severity: 'noise' },
      { ...unauthenticated, reason: 'client_authentication_malformed', severity: 'noise' },
      {
        ...unauthenticated,
        ...{ reason: 'client_secret_wrong', clientId: web.clientId, endpoint: 'revoke' },
      },
    ],
  ],
];

describe('the audit trail', () => {
  test.each(actions)('records %s', async (_what, act, expected) => {
    await act();
    await expectRecorded(expected);
  });

  /** Entries arrive up to a moment after the reply. */
  async function expectRecorded(expected: readonly object[]): Promise<void> {
    await until(async () => {
      const fresh = (await read()).filter(({ id }) => !seen.has(id));
      expect(fresh).toHaveLength(expected.length);
      const complete = expected.map((each) => ({ ...request, ...each }));
      expect(fresh).toEqual(expect.arrayContaining(complete));
    }, 5);
  }

  test('records a revocation once, and no revocation of an unknown token', async () => {
    const { refresh_token: value } = await tokensFor();
    for (const each of ['unknown', value, value]) {
      await revoke(each);
    }
    const tokenIds = [expect.stringMatching(/^[\w-]{16}$/)];
    await expectRecorded([
      signedIn,
      byCode,
      { event: 'token_revoked', kind: 'RefreshToken', ...ofWeb, tokenIds, grantId },
    ]);
  });

  test('records a client that repeats its PKCE challenge once, and none without PKCE', async () => {
    const visitor = createPageVisitor();
    const { clientId: client_id, redirectUri: redirect_uri } = browserApp;
    const code_challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
    const pkce = { code_challenge, code_challenge_method: 'S256' };
    for (let use = 0; use < 12; use += 1) {
      await land({}, alice, visitor);
      await land({ client_id, redirect_uri, ...pkce }, alice, visitor);
    }
    await expectRecorded([
      signedIn,
      {
        event: 'pkce_challenge_reused',
        severity: 'alert',
        outcome: 'failure',
        clientId: client_id,
      },
    ]);
  });

  test('contains no secret, no token and no typed text', async () => {
    const tokens = await tokensFor();
    const told = JSON.stringify([await read(), server.logLines()]);
    const secrets = [web.secureKey, alice.password, typedByMistake];
    secrets.push(tokens.access_token, tokens.refresh_token);
    expect(secrets.filter((secret) => told.includes(secret))).toEqual([]);
  });
});
