// requires: redis-server
/**
 * An anonymous caller causes many different failures, to displace a locked account from the audit
 * trail.
 */

import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { basic, until } from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';
import { flood } from './flood.ts';

const SECONDS = 20;
const machine = { clientId: 'attacked-machine', secureKey: 'Zr7Kq2Lw9Xn4Tb6Vp1Ms' };
const user = { username: 'attacked', password: 'a password that nobody guesses' };
const bootstrap = {
  organizations: [{ id: 'org-1', name: 'Example' }],
  clients: [
    {
      ...machine,
      name: 'Machine',
      orgId: 'org-1',
      grantTypes: ['password', 'client_credentials'],
      scopes: ['device:read'],
    },
  ],
  users: [{ ...user, name: 'Attacked', orgId: 'org-1' }],
};

const systems = await startOnEachEngine({
  bootstrap,
  apps: ['authorization-server', 'gateway'],
  environment: { CLIENT_ENDPOINT_RATE_LIMIT: '9999999/60', LOG_LEVEL: 'error' },
});

describe.each(systems)('flushing the audit trail on $engine', ({ system }) => {
  const store = createStore(system.storeUrl);
  const identity = openIdentity({ store, masterKey: system.masterKey });
  afterAll(() => store.close());

  test('keeps every failure and lock of a known user', async () => {
    const { authorizationServerUrl: issuer, gatewayUrl } = system;
    const post = (path: string, authorization: string, fields: Record<string, string>) => ({
      url: `${issuer}${path}`,
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(fields),
    });
    const wrong = { grant_type: 'password', username: user.username, password: 'wrong password' };
    for (let i = 0; i < 11; i += 1) {
      const { url, ...init } = post('/token', basic(machine.clientId, machine.secureKey), wrong);
      await fetch(url, init);
    }
    const account = await identity.users.findByUsername(user.username);
    const kept = () => identity.audit.read({ userId: account?.userId, limit: 100 });
    await until(async () => (await kept()).length === 3, 60);
    const before = (await identity.audit.read({ limit: 100_000 })).length;

    const stranger = (i: number) => basic(`stranger-${i}`, 'secret');
    const known = basic(machine.clientId, 'not the secret');
    const { requests } = await flood(
      {
        introspect: (i) => post('/introspect', stranger(i), { token: String(i) }),
        revoke: (i) => post('/revoke', stranger(i), { token: String(i) }),
        token: () => post('/token', known, { grant_type: 'client_credentials' }),
        platform: () => post('/platform/oauth2/token', known, { grant_type: 'client_credentials' }),
        signed: (i) => ({
          url: `${gatewayUrl}/api/device`,
          headers: {
            'X-Client-Id': `stranger-${i}`,
            'X-Timestamp': String(Date.now()),
            'X-Sign': 'a'.repeat(64),
          },
        }),
      },
      { connections: 8, seconds: SECONDS },
    );

    expect(requests).toBeGreaterThan(500);
    expect((await kept()).map(({ event, severity }) => `${severity} ${event}`).sort()).toEqual([
      'alert account_locked',
      'warning sign_in_failed',
      'warning sign_in_failed',
    ]);
    const after = (await identity.audit.read({ limit: 100_000 })).length;
    expect(after - before).toBeLessThan(50);
  });
});
