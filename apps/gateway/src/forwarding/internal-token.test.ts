import { generateKeyPairSync } from 'node:crypto';
import type { Principal, SigningKey } from '@gatehouse/identity';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { createInternalTokenIssuer } from './internal-token.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const principal: Principal = {
  clientId: 'demo',
  orgId: 'org-1',
  userId: undefined,
  user: undefined,
  subject: 'demo',
  scopes: new Set(['device:read']),
  resource: undefined,
};

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
    const first = await issue(principal, 'device-service');

    now += 29_999;
    expect(await issue({ ...principal }, 'device-service')).toBe(first);
    now += 1;
    expect(await issue(principal, 'device-service')).not.toBe(first);
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
      const token = await issue(verified, audience);
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
    await expect(issue(principal, 'device-service')).rejects.toThrow('unavailable');
    isUnavailable = false;
    await expect(issue(principal, 'device-service')).resolves.toMatch(/^ey/);
  });
});
