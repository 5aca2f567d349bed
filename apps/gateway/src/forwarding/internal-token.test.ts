import { generateKeyPairSync } from 'node:crypto';
import type { Principal, SigningKey, User } from '@gatehouse/identity';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { createInternalTokenIssuer } from './internal-token.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const principal: Principal = {
  clientId: 'demo',
  orgId: 'org-1',
  userId: undefined,
  user: undefined,
  signIn: undefined,
  subject: 'demo',
  scopes: new Set(['device:read']),
  resource: undefined,
};

const recipient = { upstream: 'device-service', claims: [] };

function createIssuer(now: () => number) {
  return createInternalTokenIssuer({
    issuer: 'http://localhost:8844',
    signingKey: async () => ({ kid: 'k', privateKey }) as SigningKey,
    now,
  });
}

describe('createInternalTokenIssuer', () => {
  test('reuses a token for half of its lifetime, never longer', async () => {
    let now = 1_700_000_000_000;
    const issue = createIssuer(() => now);
    const first = await issue({ principal }, recipient);

    now += 29_999;
    expect(await issue({ principal: { ...principal } }, recipient)).toBe(first);
    now += 1;
    expect(await issue({ principal }, recipient)).not.toBe(first);
  });

  test('never gives one caller the token of another', async () => {
    const issue = createIssuer(() => 1_700_000_000_000);
    const callers: readonly (readonly [Principal, string])[] = [
      [principal, 'device-service'],
      [principal, 'other-service'],
      [{ ...principal, subject: 'alice', userId: 'alice' }, 'device-service'],
      [{ ...principal, orgId: 'org-2' }, 'device-service'],
      [{ ...principal, scopes: new Set(['device:read', 'device:write']) }, 'device-service'],
      [{ ...principal, clientId: 'demo","demo' }, 'device-service'],
    ];
    // Two rounds: in the second one, every token is cached and could be confused with another.
    const tokens = new Set<string>();
    for (const [verified, audience] of [...callers, ...callers]) {
      const token = await issue({ principal: verified }, { upstream: audience, claims: [] });
      tokens.add(token);
      expect(decodeJwt(token)).toMatchObject({
        aud: audience,
        client_id: verified.clientId,
        sub: verified.subject,
        org: verified.orgId,
        scope: [...verified.scopes].join(' '),
      });
    }
    expect(tokens.size).toBe(callers.length);
  });

  test('tries again for the next caller after the key was unavailable', async () => {
    let isUnavailable = true;
    const issue = createInternalTokenIssuer({
      issuer: 'http://localhost:8844',
      signingKey: async () => {
        if (isUnavailable) {
          throw new Error('unavailable');
        }
        return { kid: 'k', privateKey } as SigningKey;
      },
      now: Date.now,
    });
    await expect(issue({ principal }, recipient)).rejects.toThrow('unavailable');
    isUnavailable = false;
    await expect(issue({ principal }, recipient)).resolves.toMatch(/^ey/);
  });

  test('has the claims of the user that the route asks for', async () => {
    const issue = createIssuer(() => 1_700_000_000_000);
    const user = { username: 'alice', roles: ['support'], attributes: { department: 'Sales' } };
    const alice = {
      ...principal,
      user: user as unknown as User,
      signIn: { authTime: 1, amr: ['pwd'] },
    };
    const claims = [
      ...['preferred_username', 'roles', 'department', 'auth_time', 'amr', 'acr', 'email'],
    ];
    const token = await issue({ principal: alice }, { ...recipient, claims });
    expect(decodeJwt(token)).toMatchObject({
      ...{ preferred_username: 'alice', roles: ['support'], department: 'Sales' },
      ...{ auth_time: 1, amr: ['pwd'], sub: 'demo' },
    });
    expect(decodeJwt(token)).not.toHaveProperty('email');
    const without = decodeJwt(await issue({ principal: alice }, recipient));
    expect(without).not.toHaveProperty('preferred_username');
    const promoted = { ...alice, user: { ...user, roles: ['admin'] } as unknown as User };
    const changed = decodeJwt(await issue({ principal: promoted }, { ...recipient, claims }));
    expect(changed.roles).toEqual(['admin']);
    const machine = decodeJwt(await issue({ principal }, { ...recipient, claims }));
    expect(machine).not.toHaveProperty('roles');
  });
});
