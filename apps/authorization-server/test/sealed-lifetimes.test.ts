import { LONGEST_UNLISTED_SECONDS } from '@gatehouse/identity';
import { expect, test } from '@jest/globals';
import { interactionLifetime, sessionLifetime } from '../src/provider/lifetimes.ts';
import { sealedModels } from '../src/provider/oidc-adapter.ts';
import { EXPIRED_DEVICE_CODE_SECONDS, lifetimes } from '../src/requests/lifetimes.ts';

/** How long a record that a rotation does not find can be used. Users' sessions are listed. */
const lifetimesOfUnlisted: Readonly<Record<string, number>> = {
  Session: sessionLifetime(undefined, { accountId: undefined }),
  Interaction: Math.max(
    interactionLifetime(undefined, {}),
    interactionLifetime(undefined, { session: { accountId: 'user-1' } }),
  ),
  DeviceCode: lifetimes.DeviceCode + EXPIRED_DEVICE_CODE_SECONDS,
  PushedAuthorizationRequest: lifetimes.PushedAuthorizationRequest,
};

test('encrypted records that a rotation does not find expire before master-key rotate --finish', () => {
  expect(Object.keys(lifetimesOfUnlisted).sort()).toEqual([...sealedModels].sort());
  expect(Math.max(...Object.values(lifetimesOfUnlisted))).toBe(LONGEST_UNLISTED_SECONDS);
});
