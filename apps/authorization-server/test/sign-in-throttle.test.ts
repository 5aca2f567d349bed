// requires: redis-server

import { availableParallelism } from 'node:os';
import { createPageVisitor, storeEngines } from '@gatehouse/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { accountLimit, addressLimit } from '../src/throttle/limits.ts';
import { alice, authorizationUrl, basic, requestToken } from './fixtures.ts';
import {
  full,
  type GrantsSystem,
  isActive,
  outcome,
  startGrantsSystem,
} from './grants-fixtures.ts';

const authorization = basic(full.clientId, full.secureKey);

describe.each(storeEngines)('the sign-in throttle on %s', (engine) => {
  let system: GrantsSystem;
  /** A proxy that we trust names the caller: every test is somebody else, elsewhere. */
  let address = '';
  let people = 0;

  beforeAll(async () => {
    system = await startGrantsSystem(engine, { TRUSTED_PROXIES: '127.0.0.1,::1' });
  });
  afterAll(() => system.stop());
  beforeEach(() => {
    people += 1;
    address = `203.0.113.${people}`;
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
  /** The page of one person, who has not signed in yet. */
  const openSignInPage = async () => {
    const visitor = createPageVisitor();
    const redirect = await visitor.get(authorizationUrl(system.first), {
      'x-forwarded-for': address,
    });
    return { visitor, page: await visitor.get(redirect.location ?? '') };
  };

  test('PW-03 PW-05 refuses the right password after too many failures, and says nothing of it', async () => {
    const before = (await signIn(alice.username, alice.password)).body;
    const wrong = await failures(alice.username, accountLimit.attempts);
    const locked = await signIn(alice.username, alice.password, '198.51.100.1');
    expect([locked.status, locked.body]).toEqual([400, wrong[0]?.body]);
    expect(locked.headers.get('retry-after')).toBeNull();
    // Nobody is signed out by another's guesses.
    expect(await isActive(system.first, before.access_token, authorization)).toBe(true);
    const refreshed = await requestToken(
      system.first,
      { grant_type: 'refresh_token', refresh_token: before.refresh_token },
      { authorization },
    );
    expect(refreshed.status).toBe(200);
  });

  test('PW-06 LG-21 counts the page and the password grant together', async () => {
    // alice is locked by the test before: the page refuses her right password as it refuses a wrong one.
    const { visitor, page } = await openSignInPage();
    const refused = await visitor.submit(page, alice);
    expect(refused.status).toBe(422);
    const wrong = await visitor.submit(refused, { ...alice, password: 'a wrong password' });
    expect(wrong.body.replace(/value="[^"]*"/g, '')).toBe(
      refused.body.replace(/value="[^"]*"/g, ''),
    );
  });

  test('PW-04 gives sign-ins at once over two processes their attempts back', async () => {
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        signIn('bob', 'a password of bob', address, i % 2 ? system.first : system.second),
      ),
    );
    // More at once than the account may try: what was not evaluated was refused, and locks nobody out.
    expect(replies.some(({ status }) => status === 200)).toBe(true);
    expect((await signIn('bob', 'a password of bob')).status).toBe(200);
  });

  test('RL-11 PW-03 refuses an address that tries too many accounts, successes or not', async () => {
    const key = `sign-ins:address:${address}`;
    for (let i = 0; i < addressLimit.attempts - 1; i += 1) {
      await system.store.increment(key, addressLimit.windowSeconds);
    }
    expect((await signIn('BOB', 'a password of bob')).status).toBe(200);
    const refused = await signIn('bob', 'a password of bob');
    expect(outcome(refused)).toEqual([429, 'too_many_requests']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(800);
    expect(refused.headers.get('cache-control')).toBe('no-store');
    // Another address is not concerned, whatever it says of itself (RL-01).
    expect((await signIn('bob', 'a password of bob', '198.51.100.2')).status).toBe(200);
    const spoofed = await signIn('bob', 'a password of bob', `198.51.100.3, ${address}`);
    expect(spoofed.status).toBe(429);
  });

  test('RL-02 counts an IPv6 network and a mapped address as one', async () => {
    const network = `2001:db8:${people}:`;
    const key = `sign-ins:address:${network}0/56`;
    await system.store.increment(key, addressLimit.windowSeconds);
    const signInFrom = (from: string) => signIn('nobody', 'a wrong password', from);
    await signInFrom(`${network}1::1`);
    await signInFrom(`${network}ff:ffff::2`);
    expect((await system.store.counter(key))?.count).toBe(3);
    await signInFrom(`::ffff:${address}`);
    expect((await system.store.counter(`sign-ins:address:${address}`))?.count).toBe(1);
  });

  test('answers 503 with Retry-After past what can be hashed soon, and counts nobody for it', async () => {
    const flood = await Promise.all(
      Array.from({ length: availableParallelism() * 40 }, (_, i) =>
        signIn(`crowd-${people}-${i}`, 'a wrong password', `2001:db8:${people}:${i}00::1`),
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
    const refused = await visitor.submit(page, { username: 'bob', password: 'a password of bob' });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.body).toContain('too many attempts');
  });
});
