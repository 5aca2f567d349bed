/** What passes with time: access tokens, codes of devices and signing keys. */

import { defaultSigningKeyPolicy, settingsMembers } from '@gatehouse/identity';
import { createPageVisitor, until } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { lifetimes } from '../src/requests/lifetimes.ts';
import { advanceSeconds, startInProcess } from './in-process-server.ts';
import { alice } from './installation.ts';
import { outcome } from './server.ts';

const DAY = 86_400;

let ahead = 0;
const rotating = await startInProcess({
  // Only the keys use the advanced clock. Tokens and cookies use the clock of the machine.
  app: { signingKeyPolicy: defaultSigningKeyPolicy, now: () => Date.now() + ahead },
});

const jwks = async () => JSON.parse((await rotating.get('/jwks')).body) as JSONWebKeySet;
const idToken = async (): Promise<string> =>
  (await rotating.tokensFor({ scope: 'openid' })).id_token;

test('a running server publishes, uses and removes keys by age, without a restart', async () => {
  const first = await jwks();
  const before = await idToken();
  expect(first.keys.map(({ kid }) => kid)).toEqual([decodeProtectedHeader(before).kid]);

  ahead = 90 * DAY * 1000;
  const announced = await jwks();
  expect(announced.keys).toHaveLength(2);
  const [, next] = announced.keys;
  expect(decodeProtectedHeader(await idToken()).kid).toBe(first.keys[0]?.kid);

  ahead += 3601 * 1000;
  const after = await idToken();
  expect(decodeProtectedHeader(after).kid).toBe(next?.kid);
  const published = createLocalJWKSet(await jwks());
  await jwtVerify(before, published, { issuer: rotating.issuer });
  await jwtVerify(after, published, { issuer: rotating.issuer });

  ahead += (7 * DAY + 180) * 1000;
  const last = await jwks();
  expect(last.keys.map(({ kid }) => kid)).toEqual([next?.kid]);
  await expect(jwtVerify(before, createLocalJWKSet(last))).rejects.toThrow('no applicable key');
});

test('an old key stays published until its last ID token expires, whatever operators set', () => {
  expect(defaultSigningKeyPolicy.longestTokenSeconds).toBeGreaterThanOrEqual(lifetimes.IdToken);
  const longer = { idToken: defaultSigningKeyPolicy.longestTokenSeconds + 1 };
  expect(settingsMembers.lifetimes.safeParse(longer).success).toBe(false);
});

// The tests below advance the clock of all servers in this file.
const remembered = { ...alice, remember: 'yes' };
const server = await startInProcess();
const { connectDevice, identity, issuer, isActive, newCode, poll, redeem, startDevice } = server;

test('A sign-out ends an access token that outlives the refresh tokens.', async () => {
  const lifetimes = { accessToken: 30 * DAY, refreshToken: 3600, sessionIdle: 90 * DAY };
  await identity.settings.apply({ lifetimes });
  await until(async () => (await identity.settings.read()).lifetimes.refreshToken === 3600);
  const visitor = createPageVisitor();
  await newCode({}, remembered, visitor);
  advanceSeconds(59 * DAY);
  const { body } = await redeem(await newCode({}, remembered, visitor));
  expect(body.expires_in).toBe(30 * DAY);
  advanceSeconds(2 * DAY);
  expect(await isActive(body.access_token)).toBe(true);
  const { userId = '' } = (await identity.users.findByUsername(alice.username)) ?? {};
  expect(await identity.userSessions.grants(userId)).toEqual([
    expect.objectContaining({ clientId: 'web' }),
  ]);
  await visitor.submit(await visitor.get(`${issuer}/logout`), { logout: 'yes' });
  expect(await isActive(body.access_token)).toBe(false);
  expect(await identity.verifyAccessToken(body.access_token)).toBeUndefined();
});

test('a device code can be polled at the interval of the reply, and expires after ten minutes', async () => {
  const device = await startDevice();
  expect(Number(device.interval)).toBe(5);
  const answers = [];
  for (const seconds of [0, 3, 2]) {
    advanceSeconds(seconds);
    answers.push((await poll(device)).body.error);
  }
  expect(answers).toEqual(['authorization_pending', 'slow_down', 'authorization_pending']);
  await connectDevice(device);
  expect((await poll(device)).status).toBe(200);

  const late = await startDevice();
  advanceSeconds(601);
  expect(outcome(await poll(late))).toEqual([400, 'expired_token']);
  const visitor = createPageVisitor();
  const form = await visitor.get(`${issuer}/device`);
  const page = await visitor.submit(form, { user_code: late.user_code ?? '' });
  expect([page.status, page.body]).toEqual([422, expect.stringContaining('has expired')]);
});
