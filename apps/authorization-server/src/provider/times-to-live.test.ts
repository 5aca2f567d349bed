import type { IncomingMessage } from 'node:http';
import { noSettings, type User } from '@gatehouse/identity';
import { describe, expect, test } from '@jest/globals';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { lifetimes } from '../requests/lifetimes.ts';
import { contextOf } from '../requests/request-context.ts';
import { isSessionOf, timesToLive } from './times-to-live.ts';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

describe('the lifetime', () => {
  test('of a grant is longer than that of its tokens', () => {
    expect(lifetimes).toMatchObject({ PushedAuthorizationRequest: MINUTE, IdToken: HOUR });
    expect(lifetimes.Grant).toBeGreaterThan(lifetimes.RefreshToken);
  });

  const requestWith = (lifetimes: object) => {
    const req = {} as IncomingMessage;
    contextOf(req).settings = { ...noSettings, lifetimes };
    return { req, oidc: { entities: {} } } as KoaContextWithOIDC;
  };
  const usual = requestWith({});

  test('of a code is one minute in the strict profile', () => {
    expect(timesToLive(true).AuthorizationCode(usual, {})).toBe(MINUTE);
    expect(timesToLive(false).AuthorizationCode(usual, {})).toBe(10 * MINUTE);
    expect(timesToLive(true).AuthorizationCode(requestWith({ code: 30 }), {})).toBe(30);
  });

  test('of an access token is shorter in the front channel, and ends with its grant', () => {
    const { AccessToken } = timesToLive(false);
    expect(AccessToken(usual, { gty: 'implicit' })).toBe(10 * MINUTE);
    expect(AccessToken(usual, { gty: 'authorization_code' })).toBe(2 * HOUR);
    expect(AccessToken(requestWith({ accessToken: HOUR }), {})).toBe(HOUR);
    const late = { ...usual, oidc: { entities: { Grant: { remainingTTL: MINUTE } } } };
    expect(AccessToken(late as KoaContextWithOIDC, {})).toBe(MINUTE);
  });

  test('of a refresh token ends with that of the first one of its family, or when it is idle', () => {
    const { RefreshToken } = timesToLive(false);
    const now = Math.floor(Date.now() / 1000);
    expect(RefreshToken(usual, {})).toBe(30 * DAY);
    const after20Days = RefreshToken(usual, { iiat: now - 20 * DAY });
    expect(Math.abs(after20Days - 10 * DAY)).toBeLessThan(5);
    // The library needs a positive number.
    expect(RefreshToken(usual, { iiat: now - 31 * DAY })).toBe(1);
    expect(RefreshToken(requestWith({ refreshTokenIdle: DAY }), {})).toBe(DAY);
  });

  test('of a session is short if it ends with the browser, and ends after its longest time', () => {
    const { Session } = timesToLive(false);
    const now = Math.floor(Date.now() / 1000);
    const session = (members: object) =>
      ({ accountId: 'user-1', loginTs: now, ...members }) as never;
    expect(Session(usual, session({}))).toBe(14 * DAY);
    expect(Session(usual, session({ transient: true }))).toBe(DAY);
    const day = requestWith({ session: DAY });
    expect(Session(day, session({ loginTs: now - HOUR }))).toBeLessThanOrEqual(23 * HOUR);
    expect(Session(day, session({ loginTs: now - 2 * DAY }))).toBe(1);
    expect(Session({ req: {} } as KoaContextWithOIDC, session({ accountId: undefined }))).toBe(
      HOUR,
    );
  });

  test('of a sign-in page is shorter before the sign-in', () => {
    const { Interaction } = timesToLive(false);
    expect(Interaction(undefined, {})).toBe(30 * MINUTE);
    expect(Interaction(undefined, { session: {} })).toBe(30 * MINUTE);
    expect(Interaction(undefined, { session: { accountId: 'user-1' } })).toBe(HOUR);
  });
});

const user = { userId: 'user-1', enabled: true, notBefore: 100 } as User;
const session = { accountId: 'user-1', loginTs: 101 };

test('A session is valid for its enabled user.', () => {
  expect(isSessionOf(user, session)).toBe(true);
});

test.each([
  ['whose user no longer exists', undefined, session],
  ['whose user is disabled', { ...user, enabled: false }, session],
  ['of another user', user, { ...session, accountId: 'user-2' }],
  ['from the second of a sign-out everywhere', user, { ...session, loginTs: 100 }],
  ['without a time of sign-in', { ...user, notBefore: 0 }, { accountId: 'user-1' }],
])('A session %s is not valid.', (_case, holder, tried) => {
  expect(isSessionOf(holder, tried as typeof session)).toBe(false);
});
