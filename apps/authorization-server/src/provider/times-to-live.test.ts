import type { User } from '@gatehouse/identity';
import { describe, expect, test } from '@jest/globals';
import { lifetimes } from '../requests/lifetimes.ts';
import { isSessionOf, sessionLifetime, timesToLive } from './times-to-live.ts';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

describe('the lifetime', () => {
  test('of a grant is longer than that of its tokens', () => {
    expect(lifetimes).toMatchObject({ PushedAuthorizationRequest: MINUTE, IdToken: HOUR });
    expect(lifetimes.Grant).toBeGreaterThan(lifetimes.RefreshToken);
  });

  test('of a code is one minute in the strict profile', () => {
    expect(timesToLive(true).AuthorizationCode).toBe(MINUTE);
    expect(timesToLive(false).AuthorizationCode).toBe(10 * MINUTE);
  });

  test('of an access token is shorter in the front channel', () => {
    const { AccessToken } = timesToLive(false);
    expect(AccessToken(undefined, { gty: 'implicit' })).toBe(10 * MINUTE);
    expect(AccessToken(undefined, { gty: 'authorization_code' })).toBe(2 * HOUR);
  });

  test('of a refresh token ends with that of the first one of its family', () => {
    const { RefreshToken } = timesToLive(false);
    const now = Math.floor(Date.now() / 1000);
    expect(RefreshToken(undefined, {})).toBe(30 * DAY);
    const after20Days = RefreshToken(undefined, { iiat: now - 20 * DAY });
    expect(Math.abs(after20Days - 10 * DAY)).toBeLessThan(5);
    // The library needs a positive number.
    expect(RefreshToken(undefined, { iiat: now - 31 * DAY })).toBe(1);
  });

  test('of a sign-in page is shorter before the sign-in', () => {
    const { Interaction } = timesToLive(false);
    expect(Interaction(undefined, {})).toBe(30 * MINUTE);
    expect(Interaction(undefined, { session: {} })).toBe(30 * MINUTE);
    expect(Interaction(undefined, { session: { accountId: 'user-1' } })).toBe(HOUR);
  });

  test('of a session without a user is one hour', () => {
    expect(sessionLifetime(undefined, { accountId: undefined })).toBe(HOUR);
    expect(sessionLifetime(undefined, { accountId: 'user-1' })).toBe(14 * DAY);
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
