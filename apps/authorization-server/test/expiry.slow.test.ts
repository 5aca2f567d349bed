// requires: redis-server

import { accountLimit } from '@gatehouse/identity';
import { authorizeAsUser, createPageVisitor, integrationEngines } from '@gatehouse/testing';
import { onEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { advanceSeconds, startInProcess } from './in-process-server.ts';
import { alice, full, machine } from './installation.ts';
import { as, machineGrant, outcome, refreshing } from './server.ts';

const DAY = 24 * 60 * 60;
const asMachine = as(machine);
const rejected = [400, 'invalid_grant'];

const servers = await onEachEngine((engine) => startInProcess({ engine }), integrationEngines);

describe.each(servers)('expiry on $engine', ({ engine, system }) => {
  const { authorizationUrl, isActive, newCode, platform, redeem, token, tokensFor } = system;
  const refresh = (value: string) => token(refreshing(value));
  const refreshMachine = (value: string) => platform(refreshing(value), asMachine);
  const issueMachine = async () => (await platform(machineGrant, asMachine)).body;

  test.each([
    [590, 200],
    // As soon as it expires, without tolerance.
    [601, 400],
    [614, 400],
  ])('a code that is redeemed after %d s gets %d', async (seconds, status) => {
    const code = await newCode();
    advanceSeconds(seconds);
    expect((await redeem(code)).status).toBe(status);
  });

  test('an incomplete sign-in restarts after 30 minutes', async () => {
    const visitor = createPageVisitor();
    const state = 'what the application waits for';
    const { location = '' } = await visitor.get(authorizationUrl({ state }));
    advanceSeconds(1790);
    const form = await visitor.get(location);
    expect(form.status).toBe(200);
    advanceSeconds(11);
    for (const page of [await visitor.get(location), await visitor.submit(form, alice)]) {
      expect(page.status).toBe(303);
      const landing = await authorizeAsUser(page.location ?? '', alice, visitor);
      expect(landing.searchParams.get('state')).toBe(state);
      expect(landing.searchParams.has('code')).toBe(true);
    }
  });

  test.each([
    ['user', tokensFor, refresh],
    ['machine', issueMachine, refreshMachine],
  ] as const)(
    'the family of a %s is revoked if a token is reused after its grace period',
    async (_of, issue, use) => {
      const first = (await issue()).refresh_token;
      const { body } = await use(first);
      advanceSeconds(5);
      expect((await use(first)).body.refresh_token).toBe(body.refresh_token);
      // The grace period starts at the first use. Further uses do not extend it.
      advanceSeconds(6);
      expect(outcome(await use(first))).toEqual(rejected);
      expect(outcome(await use(body.refresh_token))).toEqual(rejected);
      expect(await isActive(body.access_token)).toBe(false);
    },
  );

  test('the refresh token of a machine is rejected if its client was revoked since', async () => {
    const revoked = await issueMachine();
    await system.identity.revocations.client(machine.clientId);
    expect(outcome(await refreshMachine(revoked.refresh_token))).toEqual(rejected);
    advanceSeconds(2);
    const { refresh_token: later } = await issueMachine();
    expect((await refreshMachine(later)).status).toBe(200);
  });

  test('a family ends 30 days after it started, however often it was refreshed', async () => {
    let [ofUser, ofMachine] = [await tokensFor(), await issueMachine()];
    for (let day = 0; day < 29; day += 1) {
      advanceSeconds(DAY);
      const replies = [
        await refresh(ofUser.refresh_token),
        await refreshMachine(ofMachine.refresh_token),
      ];
      expect([day, ...replies.map(({ status }) => status)]).toEqual([day, 200, 200]);
      [ofUser, ofMachine] = replies.map(({ body }) => body);
    }
    advanceSeconds(DAY + 1);
    expect(outcome(await refresh(ofUser.refresh_token))).toEqual(rejected);
    expect(outcome(await refreshMachine(ofMachine.refresh_token))).toEqual(rejected);
  });

  // Redis uses its own clock. The contract suite of the store tests its windows.
  if (engine === 'sqlite') {
    test('an account is unlocked at the end of the window', async () => {
      const signIn = async (password: string) =>
        (await token({ grant_type: 'password', ...alice, password }, as(full))).status;
      for (let i = 0; i < accountLimit.attempts; i += 1) {
        await signIn('a wrong password');
      }
      expect(await signIn(alice.password)).toBe(400);
      advanceSeconds(accountLimit.windowSeconds + 1);
      expect(await signIn(alice.password)).toBe(200);
    });
  }
});
