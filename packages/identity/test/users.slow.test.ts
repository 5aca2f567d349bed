// requires: redis-server
import { randomUUID } from 'node:crypto';
import { until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { type Identity, passwordHashingLoad } from '../src/index.ts';
import {
  hashPassword,
  MAXIMUM_PASSWORD_BYTES,
  passwordHashCost,
} from '../src/users/password-hash.ts';
import { canonicalUsername } from '../src/users/user.ts';
import { describeOnEngines } from './engines.ts';

function newUser(username: string = randomUUID()) {
  return { username, password: 'first password', name: 'Alice', orgId: 'org-1' };
}

/** Changes the password like the account page. */
async function changeOwnPassword(identity: Identity, username: string): Promise<void> {
  const user = await identity.users.findByUsername(username);
  const other = await identity.users.ensure({ ...newUser(), password: 'own password' });
  const changed = { ...user, passwordHash: other.passwordHash };
  await identity.store.set(`user:${user?.userId}`, JSON.stringify(changed));
}

describe('the canonical form of a username', () => {
  test.each([
    ['Alice', 'alice'],
    ['ＡＬＩＣＥ', 'alice'],
    ['ﬁne', 'fine'],
    ['cafe\u0301', 'caf\u00e9'],
    ['CAFÉ', 'café'],
    ['\u212bngström', 'ångström'],
    ['①', '1'],
    [' bob\u00a0', 'bob'],
  ])('of %s is %s', (username, canonical) => {
    expect(canonicalUsername(username)).toBe(canonical);
    expect(canonicalUsername(canonical)).toBe(canonical);
  });

  test('keeps different usernames different', () => {
    const names = ['alice', 'alice.', 'al ice', 'al\u0131ce', 'аlice'];
    expect(new Set(names.map(canonicalUsername)).size).toBe(names.length);
  });
});

describeOnEngines('users', ({ openIdentity }) => {
  test('a user signs in with every spelling of the name, but only with the right password', async () => {
    const { users } = openIdentity();
    const tail = randomUUID();
    const user = await users.ensure(newUser(`Zoé-${tail}`));
    for (const spelling of [`zoé-${tail}`, `ZOÉ-${tail}`, `Zoe\u0301-${tail}`]) {
      expect(await users.verify(spelling, 'first password')).toEqual(user);
    }
    expect(await users.verify(`zoé-${tail}`, 'first password ')).toBeUndefined();
    expect(await users.verify(`zoé-${tail}.`, 'first password')).toBeUndefined();
    expect(user.userId).toMatch(/^[0-9a-f]{32}$/);
    expect(await users.find(user.userId)).toEqual(user);
  });

  test('hashing a password of the bootstrap file does not delay other changes of the user', async () => {
    const { users } = openIdentity();
    const wanted = newUser();
    const { userId } = await users.ensure(wanted);
    const others: Promise<string>[] = [];
    while (passwordHashingLoad().waiting === 0) {
      others.push(hashPassword('another', { ...passwordHashCost, passes: 20 }));
    }
    const order: string[] = [];
    const ensured = users
      .ensure({ ...wanted, password: 'second password' })
      .then(() => order.push('ensured'));
    await until(() => passwordHashingLoad().waiting === 2);
    await users.update(userId, (user) => ({ ...user, name: 'Bob' }));
    order.push('updated');
    await Promise.all([...others, ensured]);
    expect(order).toEqual(['updated', 'ensured']);
  });

  test('a new password in the bootstrap file replaces the old one', async () => {
    const { users } = openIdentity();
    const wanted = newUser();
    const user = await users.ensure(wanted);
    const changed = await users.ensure({ ...wanted, password: 'second password', name: 'Bob' });
    expect(changed).toMatchObject({ userId: user.userId, name: 'Bob' });
    expect(await users.verify(wanted.username, 'first password')).toBeUndefined();
    expect(await users.verify(wanted.username, 'second password')).toEqual(changed);
  });

  test('a password that the user changed survives a restart until the bootstrap file changes', async () => {
    const identity = openIdentity();
    const wanted = newUser();
    await identity.users.ensure(wanted);
    await changeOwnPassword(identity, wanted.username);

    const restarted = openIdentity();
    await restarted.users.ensure(wanted);
    expect(await restarted.users.verify(wanted.username, 'own password')).toBeDefined();
    expect(await restarted.users.verify(wanted.username, 'first password')).toBeUndefined();

    await restarted.users.ensure({ ...wanted, password: 'from the file' });
    expect(await restarted.users.verify(wanted.username, 'own password')).toBeUndefined();
    expect(await restarted.users.verify(wanted.username, 'from the file')).toBeDefined();
  });

  test('a disabled user is rejected, and stays disabled if the bootstrap file does not set it', async () => {
    const { users } = openIdentity();
    const wanted = newUser();
    await users.ensure({ ...wanted, enabled: false });
    const reasons: string[] = [];
    const onRejected = (reason: string) => reasons.push(reason);
    expect(await users.verify(wanted.username, wanted.password, onRejected)).toBeUndefined();
    await users.verify(wanted.username, 'wrong password', onRejected);
    await users.verify(randomUUID(), wanted.password, onRejected);
    expect(reasons).toEqual(['account_disabled', 'password_wrong', 'user_unknown']);
    expect(await users.ensure(wanted)).toMatchObject({ enabled: false });
    await users.ensure({ ...wanted, enabled: true });
    expect(await users.verify(wanted.username, wanted.password)).toBeDefined();
  });

  test('a record of an earlier release has no address, no roles, and still signs in', async () => {
    const identity = openIdentity();
    const wanted = newUser();
    const user = await identity.users.ensure(wanted);
    const { email: _email, emailVerified: _verified, roles: _roles, ...others } = user;
    const { givenName: _given, familyName: _family, updatedAt: _updated, ...earlier } = others;
    await identity.store.set(`user:${user.userId}`, JSON.stringify(earlier));
    const { users } = openIdentity();
    expect(await users.verify(wanted.username, wanted.password)).toEqual({
      ...earlier,
      emailVerified: false,
      roles: [],
    });
    expect(await users.ensure(wanted)).toMatchObject({ userId: user.userId, roles: [] });
  });

  test.each([
    ['is disabled', { enabled: false }],
    ['is signed out everywhere', { notBefore: 2_000_000_000 }],
    ['gets another password', { passwordHash: 'the hash of another' }],
  ])('a user who %s while the password is hashed is not signed in', async (_name, changes) => {
    const wanted = newUser();
    const { userId } = await openIdentity().users.ensure(wanted);
    const change = () => openIdentity().users.update(userId, (user) => ({ ...user, ...changes }));
    const { users, store } = openIdentity();
    const { get } = store;
    let reads = 0;
    store.get = async (key) => {
      reads += key === `user:${userId}` ? 1 : 0;
      // The first read is before the password is hashed, and the second one after it.
      await (key === `user:${userId}` && reads === 2 && change());
      return get.call(store, key);
    };
    expect(await users.verify(wanted.username, wanted.password)).toBeUndefined();
    expect(reads).toBe(2);
  });

  test('the not-before of a user never decreases, even if an older record is saved', async () => {
    const { users } = openIdentity();
    const { userId } = await users.ensure(newUser());
    await users.update(userId, (user) => ({ ...user, notBefore: 2_000 }));
    await openIdentity().users.update(userId, (user) => ({ ...user, notBefore: 1_000 }));
    expect(await users.find(userId)).toMatchObject({ notBefore: 2_000 });
  });

  test('a password that is too long is rejected without looking up the user', async () => {
    const identity = openIdentity();
    await identity.store.close();
    const tooLong = 'a'.repeat(MAXIMUM_PASSWORD_BYTES + 1);
    expect(await identity.users.verify('anybody', tooLong)).toBeUndefined();
  });

  test('a damaged record is not a user', async () => {
    const identity = openIdentity();
    const wanted = newUser();
    const user = await identity.users.ensure(wanted);
    const { notBefore: _lost, ...damaged } = user;
    for (const text of ['', '{', 'null', '[]', JSON.stringify(damaged)]) {
      await identity.store.set(`user:${user.userId}`, text);
      const fresh = openIdentity();
      expect(await fresh.users.find(user.userId)).toBeUndefined();
      await expect(fresh.users.ensure(wanted)).rejects.toThrow('is damaged');
    }
    expect(await openIdentity().users.verify(wanted.username, wanted.password)).toBeUndefined();
  });
});
