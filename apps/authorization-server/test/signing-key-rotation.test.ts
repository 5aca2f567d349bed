import { defaultSigningKeyPolicy, settingsMembers } from '@gatehouse/identity';
import { expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { lifetimes } from '../src/requests/lifetimes.ts';
import { startInProcess } from './in-process-server.ts';

const DAY = 24 * 60 * 60 * 1000;
const HOUR = 60 * 60 * 1000;
let ahead = 0;
const { get, issuer, tokensFor } = await startInProcess({
  // Only the keys use the advanced clock. Tokens and cookies use the clock of the machine.
  app: { signingKeyPolicy: defaultSigningKeyPolicy, now: () => Date.now() + ahead },
});

const jwks = async () => JSON.parse((await get('/jwks')).body) as JSONWebKeySet;
const idToken = async (): Promise<string> => (await tokensFor({ scope: 'openid' })).id_token;

test('a running server publishes, uses and removes keys by age, without a restart', async () => {
  const first = await jwks();
  const before = await idToken();
  expect(first.keys.map(({ kid }) => kid)).toEqual([decodeProtectedHeader(before).kid]);

  ahead = 90 * DAY;
  const announced = await jwks();
  expect(announced.keys).toHaveLength(2);
  const [, next] = announced.keys;
  expect(decodeProtectedHeader(await idToken()).kid).toBe(first.keys[0]?.kid);

  ahead += HOUR + 1000;
  const after = await idToken();
  expect(decodeProtectedHeader(after).kid).toBe(next?.kid);
  const published = createLocalJWKSet(await jwks());
  await jwtVerify(before, published, { issuer });
  await jwtVerify(after, published, { issuer });

  ahead += 7 * DAY + 3 * 60 * 1000;
  const last = await jwks();
  expect(last.keys.map(({ kid }) => kid)).toEqual([next?.kid]);
  await expect(jwtVerify(before, createLocalJWKSet(last))).rejects.toThrow('no applicable key');
});

test('an old key stays published until its last ID token expires, whatever operators set', () => {
  expect(defaultSigningKeyPolicy.longestTokenSeconds).toBeGreaterThanOrEqual(lifetimes.IdToken);
  const longer = { idToken: defaultSigningKeyPolicy.longestTokenSeconds + 1 };
  expect(settingsMembers.lifetimes.safeParse(longer).success).toBe(false);
});
