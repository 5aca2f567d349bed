import { generateKeyPairSync } from 'node:crypto';
import type { Principal, SigningKey } from '@gatehouse/identity';
import { describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { createInternalTokenIssuer } from './internal-token.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const principal: Principal = {
  clientId: 'demo',
  orgId: 'org-1',
  userId: undefined,
  subject: 'demo',
  scopes: new Set(['device:read']),
};

function createIssuer(now: () => number) {
  return createInternalTokenIssuer({
    issuer: 'http://localhost:8844',
    signingKey: async () => ({ kid: 'k', privateKey }) as SigningKey,
    now,
  });
}

describe('createInternalTokenIssuer', () => {
  it('reuses a token for half of its life, never longer', async () => {
    let now = 1_700_000_000_000;
    const issue = createIssuer(() => now);
    const first = await issue(principal, 'device-service');

    now += 29_999;
    expect(await issue({ ...principal }, 'device-service')).toBe(first);
    now += 1;
    expect(await issue(principal, 'device-service')).not.toBe(first);
  });

  it('never gives one caller the token of another', async () => {
    const issue = createIssuer(() => 1_700_000_000_000);
    const tokens = await Promise.all([
      issue(principal, 'device-service'),
      issue(principal, 'other-service'),
      issue({ ...principal, subject: 'alice', userId: 'alice' }, 'device-service'),
      issue({ ...principal, orgId: 'org-2' }, 'device-service'),
      issue({ ...principal, scopes: new Set(['device:read', 'device:write']) }, 'device-service'),
      issue({ ...principal, clientId: 'demo","demo' }, 'device-service'),
    ]);

    expect(new Set(tokens).size).toBe(tokens.length);
    expect(decodeJwt(tokens[2] ?? '')).toMatchObject({ sub: 'alice', client_id: 'demo' });
  });

  it('makes the next caller try again when the key could not be had', async () => {
    let away = true;
    const issue = createInternalTokenIssuer({
      issuer: 'http://localhost:8844',
      signingKey: async () => {
        if (away) {
          throw new Error('away');
        }
        return { kid: 'k', privateKey } as SigningKey;
      },
      now: Date.now,
    });
    await expect(issue(principal, 'device-service')).rejects.toThrow('away');
    away = false;
    await expect(issue(principal, 'device-service')).resolves.toMatch(/^ey/);
  });
});
