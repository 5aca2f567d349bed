// requires: redis-server
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  accountLimit,
  type Identity,
  MAXIMUM_PASSWORD_BYTES,
  openIdentity,
  PasswordHashingBusyError,
  type User,
} from '@gatehouse/identity';
import { createStore, type Store, StoreUnavailableError } from '@gatehouse/store';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { TryLaterError } from '../src/requests/failures.ts';
import { addressLimit } from '../src/throttle/limits.ts';
import { createSignIn, type SignIn } from '../src/throttle/sign-in-throttle.ts';
import { openStores } from './server.ts';

const RIGHT = 'the right password';
const masterKey = randomBytes(32);
const attempts: number = accountLimit.attempts;
const user: User = {
  ...{ userId: 'user-1', username: 'alice', name: 'Alice', orgId: 'org-1', passwordHash: '' },
  ...{ emailVerified: false, roles: [], enabled: true, notBefore: 0 },
};

const stores = await openStores();

describe.each(stores)('attempts to sign in on $engine', ({ system: { store, storeUrl } }) => {
  let evaluated: string[];
  let isBusy: boolean;
  /** What the observer of the throttle was told. */
  let seen: string[];
  let testNumber = 0;
  let username = '';
  let address = '';

  beforeEach(() => {
    testNumber += 1;
    username = `user-${testNumber}`;
    address = `198.51.100.${testNumber}`;
    evaluated = [];
    isBusy = false;
    seen = [];
  });

  /** Records the passwords that the throttle passes to the hash. */
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
    findByLogin: async (name: string) => ({ ...user, username: name }),
  } as unknown as Identity['users'];
  const locksIn = (over: Store) => openIdentity({ store: over, masterKey }).signInLocks;
  /** The throttle of another process, which shares only the store. */
  const newProcess = (over: Store = store) =>
    createSignIn({
      store: over,
      users,
      signInLocks: locksIn(over),
      rejectionOf: async (_user, { clientId }) =>
        clientId === 'elsewhere' ? 'user_of_another_organization' : undefined,
      observer: {
        succeeded: (_attempt, userId) => seen.push(userId),
        failed: (_attempt, reason) => seen.push(reason),
        locked: () => seen.push('locked'),
      },
    });
  const attempt = (password: string, change: Partial<Parameters<SignIn>[0]> = {}) => ({
    ...{ method: 'page' as const, clientId: 'client', username, password, ...from(address) },
    ...change,
  });
  const from = (ip: string) => ({ request: { ip, socket: {} } as unknown as IncomingMessage });
  /** In a browser in which this user has signed in before. */
  const known = (device: string, userId = user.userId) => ({
    device: { userId, deviceId: `${testNumber}-${device}` },
  });
  const fail = async (signIn: SignIn, count = attempts, change = {}) => {
    for (let i = 0; i < count; i += 1) {
      expect(await signIn(attempt('wrong', change))).toBeUndefined();
    }
  };

  const addressKey = () => `sign-ins:address:${address}`;
  const userKey = `sign-ins:user:${user.userId}`;
  const countOf = async (key: string) => (await store.increment(key, 60, 0)).count;
  /** As if other callers had made so many attempts. */
  const useUp = (key: string, count = addressLimit.attempts) =>
    store.increment(key, addressLimit.windowSeconds, count);
  const unlock = () => locksIn(store).unlock({ ...user, username });

  test('evaluate at most the limit of 100 concurrent guesses, over two processes', async () => {
    const processes = [newProcess(), newProcess()];
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, i) => processes[i % 2]?.(attempt(`guess ${i}`))),
    );
    expect(outcomes).toEqual(Array(100).fill(undefined));
    expect(evaluated.length).toBeGreaterThan(0);
    expect(evaluated.length).toBeLessThanOrEqual(attempts);
  });

  test('do not evaluate the correct password of a locked account, in any form of its name', async () => {
    const signIn = newProcess();
    await fail(signIn, attempts / 2);
    await fail(signIn, attempts / 2, { username: username.toUpperCase() });
    expect(evaluated).toHaveLength(attempts);
    expect(await signIn(attempt(RIGHT))).toBeUndefined();
    expect(evaluated).toHaveLength(attempts);
  });

  test('do not count if they succeed, so a user may sign in any number of times', async () => {
    const signIn = newProcess();
    for (let i = 0; i < attempts * 2; i += 1) {
      expect(await signIn(attempt(RIGHT))).toBe(user);
    }
    await fail(signIn, attempts - 1);
    expect(await signIn(attempt(RIGHT))).toBe(user);
    await fail(signIn, 1);
    expect(await signIn(attempt(RIGHT))).toBeUndefined();
  });

  test('count as failures for a user that the client does not allow', async () => {
    const signIn = newProcess();
    for (let i = 0; i < attempts; i += 1) {
      expect(await signIn(attempt(RIGHT, { clientId: 'elsewhere' }))).toBeUndefined();
    }
    expect(await signIn(attempt(RIGHT))).toBeUndefined();
  });

  test('lock no account while the server is too busy to hash', async () => {
    const signIn = newProcess();
    isBusy = true;
    for (let i = 0; i < attempts * 2; i += 1) {
      await expect(signIn(attempt(RIGHT))).rejects.toThrow(PasswordHashingBusyError);
    }
    isBusy = false;
    expect(await signIn(attempt(RIGHT))).toBe(user);
  });

  test('under any number of invented names lock no other user of the client', async () => {
    const signIn = newProcess();
    const flood = Array.from({ length: 3100 }, (_, i) =>
      signIn(attempt('wrong', { username: `invented-${i}`, ...from(`192.0.2.${i % 200}`) })),
    );
    expect(new Set(await Promise.all(flood))).toEqual(new Set([undefined]));
    expect(await signIn(attempt(RIGHT))).toBe(user);
  });

  test('are rejected for an address with too many of them, whether they succeed or not', async () => {
    const signIn = newProcess();
    await useUp(addressKey(), addressLimit.attempts - 1);
    expect(await signIn(attempt(RIGHT))).toBe(user);
    // Neither an unknown device nor that of another user passes the limit.
    for (const device of [{}, known('d', 'another user')]) {
      const rejected = signIn(attempt(RIGHT, device));
      await expect(rejected).rejects.toBeInstanceOf(TryLaterError);
      await expect(rejected).rejects.toMatchObject({ reason: 'sign_in_address_limit' });
    }
  });

  test('of a known device pass the limit of their address, and have a limit of their user', async () => {
    const signIn = newProcess();
    await store.delete([userKey]);
    await useUp(addressKey());
    expect(await signIn(attempt(RIGHT, known('a')))).toBe(user);
    await fail(signIn, attempts * 2, known('stolen'));
    // A locked device does not use up the limit of its user.
    expect(await countOf(userKey)).toBe(1 + attempts);
    await useUp(userKey);
    await expect(signIn(attempt(RIGHT, known('b')))).rejects.toMatchObject({
      reason: 'sign_in_user_limit',
      retryAfterSeconds: expect.closeTo(addressLimit.windowSeconds, -1),
    });
    await store.delete([userKey]);
    await unlock();
  });

  test('of a known device count for that device only', async () => {
    const signIn = newProcess();
    await fail(signIn);
    // The device of another user is an unknown one.
    for (const device of [{}, known('c', 'another user')]) {
      expect(await signIn(attempt(RIGHT, device))).toBeUndefined();
    }
    await fail(signIn, attempts, known('a'));
    expect(await signIn(attempt(RIGHT, known('a')))).toBeUndefined();
    expect(await signIn(attempt(RIGHT, known('b')))).toBe(user);
    const kinds = (await locksIn(store).list({ ...user, username })).map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(['account', 'browser']);
    await unlock();
  });

  test('with a password that no user can have are neither evaluated nor counted', async () => {
    const signIn = newProcess();
    const longest = 'é'.repeat(MAXIMUM_PASSWORD_BYTES / 2);
    expect(await signIn(attempt(`${longest}!`))).toBeUndefined();
    expect([evaluated, seen]).toEqual([[], ['password_wrong']]);
    expect(await countOf(addressKey())).toBe(0);
    await signIn(attempt(longest));
    expect(evaluated).toEqual([longest]);
  });

  test('notify the observer once each, and of the lock with the failure that causes it', async () => {
    const signIn = newProcess();
    await signIn(attempt(RIGHT));
    await signIn(attempt(RIGHT, { clientId: 'elsewhere' }));
    await fail(signIn, attempts + 1);
    expect(seen).toEqual([
      ...['user-1', 'user_of_another_organization'],
      ...Array(attempts - 1).fill('password_wrong'),
      ...['locked', 'account_locked', 'account_locked'],
    ]);
  });

  test('are not evaluated while the store is unavailable', async () => {
    const closed = createStore(storeUrl);
    await closed.close();
    await expect(newProcess(closed)(attempt(RIGHT))).rejects.toThrow(StoreUnavailableError);
    expect(evaluated).toEqual([]);
  });
});
