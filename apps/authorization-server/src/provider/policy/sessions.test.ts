import type { User } from '@gatehouse/identity';
import { expect, test } from '@jest/globals';
import { isSessionOf } from './sessions.ts';

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
