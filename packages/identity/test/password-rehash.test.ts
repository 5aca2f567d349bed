// requires: redis-server
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { hashPassword, type Identity } from '../src/index.ts';
import { passwordHashCost } from '../src/users/password-hash.ts';
import { describeOnEngines } from './engines.ts';

const RIGHT = 'the password of before';
const { memory, passes, parallelism } = passwordHashCost;
const today = `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`;

/** A user whose password was hashed with a lower cost. */
async function userOfBefore({ users, store }: Identity) {
  const username = randomUUID();
  const made = await users.ensure({ username, password: RIGHT, name: 'Alice', orgId: 'org-1' });
  const passwordHash = await hashPassword(RIGHT, { memory: 100, passes: 1, parallelism: 1 });
  await store.set(`user:${made.userId}`, JSON.stringify({ ...made, passwordHash }));
  return { ...made, passwordHash };
}

describeOnEngines('a password hash with another cost', ({ openIdentity }) => {
  test('is replaced in every process when the user signs in', async () => {
    const user = await userOfBefore(openIdentity());
    const { users } = openIdentity();
    const signedIn = await users.verify(user.username, RIGHT);
    expect(signedIn).toEqual({ ...user, passwordHash: expect.stringContaining(today) });
    const again = openIdentity().users;
    expect(await again.verify(user.username, RIGHT)).toEqual(signedIn);
    expect(await again.verify(user.username, 'another password')).toBeUndefined();
  });

  test('never undoes a concurrent change of the password or sign-out', async () => {
    const passwordHash = await hashPassword('the changed password');
    for (let round = 0; round < 5; round += 1) {
      const user = await userOfBefore(openIdentity());
      const notBefore = 1_900_000_000;
      const [signedIn] = await Promise.all([
        openIdentity().users.verify(user.username, RIGHT),
        openIdentity().users.update(user.userId, (each) => ({ ...each, passwordHash, notBefore })),
      ]);
      expect(await openIdentity().users.find(user.userId)).toEqual({
        ...user,
        passwordHash,
        notBefore,
      });
      // A sign-in before that is older than the not-before, and therefore invalid.
      expect(signedIn?.notBefore ?? 0).toBe(0);
    }
  });
});
