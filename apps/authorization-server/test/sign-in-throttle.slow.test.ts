// requires: redis-server

import { availableParallelism } from 'node:os';
import { createPageVisitor } from '@gatehouse/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { accountLimit, addressLimit } from '../src/throttle/limits.ts';
import { alice, authorizationUrl, basic, requestToken } from './fixtures.ts';
import { full, isActive, outcome, startGrantsSystems } from './grants-fixtures.ts';
import { failToSignIn } from './page-fixtures.ts';

const authorization = basic(full.clientId, full.secureKey);

const systems = await startGrantsSystems({ TRUSTED_PROXIES: '127.0.0.1,::1' });

describe.each(systems)('the sign-in throttle on $engine', ({ system }) => {
  /** The address in X-Forwarded-For of a trusted proxy. Every test has its own. */
  let address = '';
  let testNumber = 0;

  beforeEach(() => {
    testNumber += 1;
    address = `203.0.113.${testNumber}`;
  });

  const signIn = (username: string, password: string, from = address, server = system.first) =>
    requestToken(
      server,
      { grant_type: 'password', username, password },
      { authorization, 'x-forwarded-for': from },
    );
  const failures = (username: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        signIn(username, 'a wrong password', address, i % 2 ? system.first : system.second),
      ),
    );
  /** Opens the sign-in page in a new browser. */
  const openSignInPage = async () => {
    const visitor = createPageVisitor();
    const redirect = await visitor.get(authorizationUrl(system.first), {
      'x-forwarded-for': address,
    });
    return { visitor, page: await visitor.get(redirect.location ?? '') };
  };

  test('rejects the correct password after too many failures, with the same error', async () => {
    const before = (await signIn(alice.username, alice.password)).body;
    const wrong = await failures(alice.username, accountLimit.attempts);
    const locked = await signIn(alice.username, alice.password, '198.51.100.1');
    expect([locked.status, locked.body]).toEqual([400, wrong[0]?.body]);
    expect(locked.headers.get('retry-after')).toBeNull();
    // The guesses of an attacker do not sign the user out.
    expect(await isActive(system.first, before.access_token, authorization)).toBe(true);
    const refreshed = await requestToken(
      system.first,
      { grant_type: 'refresh_token', refresh_token: before.refresh_token },
      { authorization },
    );
    expect(refreshed.status).toBe(200);
  });

  test('counts the page and the password grant together', async () => {
    // The test before locked alice, so the page rejects the correct password like a wrong one.
    const { visitor, page } = await openSignInPage();
    const rejected = await failToSignIn(visitor, page, alice);
    const typed = { ...alice, password: 'a wrong password' };
    const wrong = await failToSignIn(visitor, rejected, typed);
    expect(wrong.body.replace(/value="[^"]*"/g, '')).toBe(
      rejected.body.replace(/value="[^"]*"/g, ''),
    );
  });

  test('rejects an address that tries too many accounts, successfully or not', async () => {
    const key = `sign-ins:address:${address}`;
    for (let i = 0; i < addressLimit.attempts - 1; i += 1) {
      await system.store.increment(key, addressLimit.windowSeconds);
    }
    expect((await signIn('BOB', 'a password of bob')).status).toBe(200);
    const rejected = await signIn('bob', 'a password of bob');
    expect(outcome(rejected)).toEqual([429, 'too_many_requests']);
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(800);
    expect(rejected.headers.get('cache-control')).toBe('no-store');
    // Another address is not affected, and cannot choose its address (RL-01).
    expect((await signIn('bob', 'a password of bob', '198.51.100.2')).status).toBe(200);
    const spoofed = await signIn('bob', 'a password of bob', `198.51.100.3, ${address}`);
    expect(spoofed.status).toBe(429);
  });

  test('answers 503 with Retry-After if it cannot hash soon, and does not count the attempt', async () => {
    const flood = await Promise.all(
      Array.from({ length: availableParallelism() * 40 }, (_, i) =>
        signIn(`crowd-${testNumber}-${i}`, 'a wrong password', `2001:db8:${testNumber}:${i}00::1`),
      ),
    );
    const outcomes = new Set(flood.map((reply) => outcome(reply).join(' ')));
    expect(outcomes).toEqual(new Set(['400 invalid_grant', '503 temporarily_unavailable']));
    const busy = flood.find(({ status }) => status === 503);
    expect(Number(busy?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await signIn('bob', 'a password of bob')).status).toBe(200);
  });

  test('shows a page with status 429 at the sign-in page', async () => {
    const { visitor, page } = await openSignInPage();
    for (const each of ['127.0.0.1', '0:0:0:0/56']) {
      for (let i = 0; i < addressLimit.attempts; i += 1) {
        await system.store.increment(`sign-ins:address:${each}`, addressLimit.windowSeconds);
      }
    }
    const rejected = await visitor.submit(page, { username: 'bob', password: 'a password of bob' });
    expect(rejected.status).toBe(429);
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(rejected.body).toContain('too many attempts');
  });
});
