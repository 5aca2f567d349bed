/** An access token that is valid for longer than a refresh token. */
import { createPageVisitor, until } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { advanceSeconds, startInProcess } from './in-process-server.ts';
import { alice } from './installation.ts';

const DAY = 86_400;
const remembered = { ...alice, remember: 'yes' };
const { identity, issuer, isActive, newCode, redeem } = await startInProcess();

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
