// requires: redis-server

import { setTimeout as sleep } from 'node:timers/promises';
import {
  createSignInLocks,
  MAXIMUM_PASSWORD_BYTES,
  PasswordHashingBusyError,
  type User,
  type UserRegistry,
} from '@gatehouse/identity';
import { createStore, type Store, StoreUnavailableError } from '@gatehouse/store';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { TooManyAttemptsError } from '../src/requests/too-many-attempts-error.ts';
import { accountLimit, addressLimit, type Limit } from '../src/throttle/limits.ts';
import { createSignIn } from '../src/throttle/sign-in-throttle.ts';
import { openSuiteStores } from './suite-stores.ts';

const RIGHT = 'the right password';
const user: User = {
  userId: 'user-1',
  username: 'alice',
  name: 'Alice',
  orgId: 'org-1',
  emailVerified: false,
  roles: [],
  enabled: true,
  notBefore: 0,
  passwordHash: '',
};

const stores = await openSuiteStores();

describe.each(stores)('attempts to sign in on $engine', ({ system: { store, storeUrl } }) => {
  let evaluated: string[];
  let isBusy: boolean;
  let testNumber = 0;
  let username = '';

  beforeEach(() => {
    testNumber += 1;
    username = `user-${testNumber}`;
    evaluated = [];
    isBusy = false;
  });

  /** Counts the passwords that the throttle passes to the hash. */
  const users = {
    async verify(_name: string, password: string, onRejected?: (reason: string) => void) {
      if (isBusy) {
        throw new PasswordHashingBusyError();
      }
      evaluated.push(password);
      await sleep(2);
      if (password === RIGHT) {
        return user;
      }
      onRejected?.('password_wrong');
      return undefined;
    },
    reject: async () => {},
    findByUsername: async () => user,
  } as unknown as UserRegistry;
  const credentialHash = (value: string) => `hash-of-${value}`;
  /** The throttle of another process, which shares only the store. */
  const newProcess = (over: Store = store) =>
    createSignIn({
      store: over,
      users,
      credentialHash,
      isAllowed: async (_user, clientId) => clientId !== 'elsewhere',
    });
  const attempt = (password: string, clientId = 'client') => ({
    method: 'page' as const,
    username,
    password,
    address: `198.51.100.${testNumber}`,
    clientId,
  });

  const countOf = async (key: string) => (await store.counter(key))?.count ?? 0;
  /** As if other callers had used up the limit. */
  const useUp = (key: string, { attempts, windowSeconds }: Limit) =>
    store.increment(key, windowSeconds, attempts);
  /** In a browser in which `user` has signed in before. */
  const known = (password: string, deviceId: string, clientId = 'client') => ({
    ...attempt(password, clientId),
    device: { userId: user.userId, deviceId: `${testNumber}-${deviceId}` },
  });

  test('evaluate at most the limit of 100 concurrent guesses, over two processes', async () => {
    const processes = [newProcess(), newProcess()];
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, i) => processes[i % 2]?.(attempt(`guess ${i}`))),
    );
    expect(outcomes).toEqual(Array(100).fill(undefined));
    expect(evaluated.length).toBeGreaterThan(0);
    expect(evaluated.length).toBeLessThanOrEqual(accountLimit.attempts);
  });

  test('do not evaluate the correct password of a locked account, in any form of its name', async () => {
    const signIn = newProcess();
    for (let i = 0; i < accountLimit.attempts; i += 1) {
      await signIn({ ...attempt('wrong'), username: i % 2 ? username : username.toUpperCase() });
    }
    expect(evaluated).toHaveLength(accountLimit.attempts);
    expect(await signIn(attempt(RIGHT))).toBeUndefined();
    expect(evaluated).toHaveLength(accountLimit.attempts);
  });

  test('do not count if they succeed, so a user may sign in any number of times', async () => {
    const signIn = newProcess();
    for (let i = 0; i < accountLimit.attempts * 2; i += 1) {
      expect(await signIn(attempt(RIGHT))).toBe(user);
    }
    for (let i = 1; i < accountLimit.attempts; i += 1) {
      await signIn(attempt('wrong'));
    }
    expect(await signIn(attempt(RIGHT))).toBe(user);
    await signIn(attempt('wrong'));
    expect(await signIn(attempt(RIGHT))).toBeUndefined();
  });

  test('count as failures for a user that the client does not allow', async () => {
    const signIn = newProcess();
    for (let i = 0; i < accountLimit.attempts; i += 1) {
      expect(await signIn(attempt(RIGHT, 'elsewhere'))).toBeUndefined();
    }
    expect(await signIn(attempt(RIGHT))).toBeUndefined();
  });

  test('lock no account while the server is too busy to hash', async () => {
    const signIn = newProcess();
    isBusy = true;
    for (let i = 0; i < accountLimit.attempts * 2; i += 1) {
      await expect(signIn(attempt(RIGHT))).rejects.toThrow(PasswordHashingBusyError);
    }
    isBusy = false;
    expect(await signIn(attempt(RIGHT))).toBe(user);
  });

  test('under any number of invented names lock no other user of the client', async () => {
    const signIn = newProcess();
    const flood = Array.from({ length: 3100 }, (_, i) =>
      signIn({ ...attempt('wrong'), username: `invented-${i}`, address: `192.0.2.${i % 200}` }),
    );
    expect(new Set(await Promise.all(flood))).toEqual(new Set([undefined]));
    expect(await signIn(attempt(RIGHT))).toBe(user);
  });

  test('are rejected for an address with too many of them, whether they succeed or not', async () => {
    const signIn = newProcess();
    const key = `sign-ins:address:${attempt('').address}`;
    await useUp(key, { ...addressLimit, attempts: addressLimit.attempts - 1 });
    expect(await signIn(attempt(RIGHT))).toBe(user);
    const rejected = signIn(attempt(RIGHT));
    await expect(rejected).rejects.toBeInstanceOf(TooManyAttemptsError);
    await expect(rejected).rejects.toMatchObject({ reason: 'sign_in_address_limit' });
  });

  test('of a known device pass the limit of their address, and have a limit of their user', async () => {
    const signIn = newProcess();
    const userKey = `sign-ins:user:${user.userId}`;
    await store.delete([userKey]);
    await useUp(`sign-ins:address:${attempt('').address}`, addressLimit);
    await expect(signIn(attempt(RIGHT))).rejects.toBeInstanceOf(TooManyAttemptsError);
    expect(await signIn(known(RIGHT, 'a'))).toBe(user);
    for (let i = 0; i < accountLimit.attempts * 2; i += 1) {
      expect(await signIn(known('wrong', 'stolen'))).toBeUndefined();
    }
    // A locked device does not use up the limit of its user.
    expect(await countOf(userKey)).toBe(1 + accountLimit.attempts);
    await useUp(userKey, addressLimit);
    await expect(signIn(known(RIGHT, 'b'))).rejects.toMatchObject({
      reason: 'sign_in_user_limit',
      retryAfterSeconds: expect.closeTo(addressLimit.windowSeconds, -1),
    });
    await store.delete([userKey]);
    await createSignInLocks({ store, credentialHash }).unlock({ ...user, username });
  });

  test('with the device of another user do not pass the limit of their address', async () => {
    await useUp(`sign-ins:address:${attempt('').address}`, addressLimit);
    const device = { userId: 'another user', deviceId: `${testNumber}-d` };
    await expect(newProcess()({ ...attempt(RIGHT), device })).rejects.toMatchObject({
      reason: 'sign_in_address_limit',
    });
  });

  test('of a known device count for that device only', async () => {
    const signIn = newProcess();
    for (let i = 0; i < accountLimit.attempts; i += 1) {
      expect(await signIn(attempt('wrong'))).toBeUndefined();
    }
    expect(await signIn(attempt(RIGHT))).toBeUndefined();
    for (let i = 0; i < accountLimit.attempts; i += 1) {
      expect(await signIn(known('wrong', 'a'))).toBeUndefined();
    }
    expect(await signIn(known(RIGHT, 'a'))).toBeUndefined();
    expect(await signIn(known(RIGHT, 'b'))).toBe(user);
    const locks = createSignInLocks({ store, credentialHash });
    const kinds = (await locks.list({ ...user, username })).map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(['account', 'browser']);
    await locks.unlock({ ...user, username });
  });

  test('with the device of another user count as those of an unknown device', async () => {
    const signIn = newProcess();
    for (let i = 0; i < accountLimit.attempts; i += 1) {
      await signIn(attempt('wrong'));
    }
    const device = { userId: 'another user', deviceId: `${testNumber}-c` };
    expect(await signIn({ ...attempt(RIGHT), device })).toBeUndefined();
  });

  test('with a password that no user can have are neither evaluated nor counted', async () => {
    const reasons: string[] = [];
    const signIn = createSignIn({
      store,
      users,
      credentialHash,
      isAllowed: async () => true,
      observer: {
        succeeded: () => {},
        failed: (_attempt, reason) => reasons.push(reason),
        locked: () => {},
      },
    });
    const longest = 'é'.repeat(MAXIMUM_PASSWORD_BYTES / 2);
    expect(await signIn(attempt(`${longest}!`))).toBeUndefined();
    expect([evaluated, reasons]).toEqual([[], ['password_wrong']]);
    expect(await countOf(`sign-ins:address:${attempt('').address}`)).toBe(0);
    await signIn(attempt(longest));
    expect(evaluated).toEqual([longest]);
  });

  test('notify the observer once each, and of the lock with the failure that causes it', async () => {
    const seen: string[] = [];
    const signIn = createSignIn({
      store,
      users,
      credentialHash,
      isAllowed: async (_user, clientId) => clientId !== 'elsewhere',
      observer: {
        succeeded: (_attempt, userId) => seen.push(userId),
        failed: (_attempt, reason) => seen.push(reason),
        locked: () => seen.push('locked'),
      },
    });
    await signIn(attempt(RIGHT));
    await signIn(attempt(RIGHT, 'elsewhere'));
    for (let i = 1; i < accountLimit.attempts + 2; i += 1) {
      await signIn(attempt('wrong'));
    }
    expect(seen).toEqual([
      'user-1',
      'user_of_another_organization',
      ...Array(accountLimit.attempts - 1).fill('password_wrong'),
      'locked',
      'account_locked',
      'account_locked',
    ]);
  });

  test('are not evaluated while the store is unavailable', async () => {
    const closed = createStore(storeUrl);
    await closed.close();
    await expect(newProcess(closed)(attempt(RIGHT))).rejects.toThrow(StoreUnavailableError);
    expect(evaluated).toEqual([]);
  });
});
