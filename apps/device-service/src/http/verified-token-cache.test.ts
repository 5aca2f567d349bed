import { describe, expect, test } from '@jest/globals';
import type { VerifiedToken } from './internal-token.ts';
import { rememberVerifiedTokens } from './verified-token-cache.ts';

function verifierThatCounts(expiresAt: number) {
  const verified: string[] = [];
  const verify = async (token: string): Promise<VerifiedToken> => {
    verified.push(token);
    if (token === 'bad') {
      throw new Error('bad');
    }
    const caller = {
      subject: token,
      clientId: 'c',
      organizationId: 'o',
      scopes: new Set<string>(),
    };
    return { caller, expiresAt };
  };
  return { verify, verified };
}

describe('rememberVerifiedTokens', () => {
  test('verifies a token once until it expires', async () => {
    let now = 0;
    const { verify, verified } = verifierThatCounts(1000);
    const identify = rememberVerifiedTokens(verify, { capacity: 10, now: () => now });

    expect((await identify('a')).subject).toBe('a');
    now = 999;
    await identify('a');
    expect(verified).toEqual(['a']);
    now = 1000;
    await identify('a');
    expect(verified).toEqual(['a', 'a']);
  });

  test('never caches an invalid token', async () => {
    const { verify, verified } = verifierThatCounts(1000);
    const identify = rememberVerifiedTokens(verify, { capacity: 10, now: () => 0 });

    await expect(identify('bad')).rejects.toThrow('bad');
    await expect(identify('bad')).rejects.toThrow('bad');
    expect(verified).toEqual(['bad', 'bad']);
  });

  test('evicts the oldest token beyond its capacity', async () => {
    const { verify, verified } = verifierThatCounts(1000);
    const identify = rememberVerifiedTokens(verify, { capacity: 2, now: () => 0 });

    for (const token of ['a', 'b', 'c', 'b', 'c', 'a']) {
      await identify(token);
    }
    expect(verified).toEqual(['a', 'b', 'c', 'a']);
  });
});
