// requires: redis-server
/** After a data loss without the index of the tokens of a grant, revocation must still work. */
import { until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { outcome, refreshing, startOnEngines } from './server.ts';

const systems = await startOnEngines({
  apps: ['authorization-server', 'gateway', 'device-service'],
});

describe.each(systems)('without the index of the tokens of a grant, on $engine', ({ system }) => {
  const { isActive, newCode, redeem, revoke, token, userinfo } = system.first;

  /** The replies of the gateway, introspection and userinfo for an access token. */
  async function seen(value: string) {
    const headers = { authorization: `Bearer ${value}` };
    const gateway = await fetch(`${system.gatewayUrl}/api/device`, { headers });
    return [gateway.status, await isActive(value), (await userinfo(value)).status];
  }

  test.each([
    [
      'revoking a refresh token',
      async (_code: string, value: string) => (await revoke(value)).status,
      200,
    ],
    ['replaying a code', async (code: string) => (await redeem(code)).status, 400],
  ] as const)('%s revokes the tokens', async (_what, end, status) => {
    const code = await newCode({ scope: 'device:read openid' });
    const { access_token: access, refresh_token: refresh } = (await redeem(code)).body;
    for (const userId of await system.store.members('users')) {
      const grants = await system.store.members(`user-grants:${userId}`);
      await system.store.delete(grants.map((grantId) => `grant-members:${grantId}`));
    }
    expect(await seen(access)).toEqual([200, true, 200]);
    expect(await end(code, refresh)).toBe(status);
    // The gateway may use a copy from up to 50 ms before the tombstone.
    await until(async () => expect(await seen(access)).toEqual([401, false, 401]));
    expect(outcome(await token(refreshing(refresh)))).toEqual([400, 'invalid_grant']);
  });
});
