import { describe, expect, test } from '@jest/globals';
import { createTokenCache, type IssuedToken } from './credential-fetch.ts';

/** Issues t1, t2 and so on. */
function issuer(expiresInSeconds: number) {
  const issued: string[] = [];
  const request = async (): Promise<IssuedToken> => {
    const value = `t${issued.length + 1}`;
    issued.push(value);
    return { value, expiresInSeconds };
  };
  return { issued, request };
}

describe('a token cache', () => {
  test('requests one token for all calls that wait for it', async () => {
    const { issued, request } = issuer(600);
    const tokens = createTokenCache(request);
    const values = await Promise.all([tokens.get(), tokens.get(), tokens.get()]);
    expect([...values, await tokens.get()]).toEqual(['t1', 't1', 't1', 't1']);
    expect(issued).toEqual(['t1']);
  });

  test('renews a token that expires soon, while calls use it', async () => {
    const { request } = issuer(1e-9);
    let lifetime = 0.5;
    const tokens = createTokenCache(async () => ({
      ...(await request()),
      expiresInSeconds: lifetime,
    }));
    expect(await tokens.get()).toBe('t1');
    lifetime = 600;
    const seen = new Set<string>();
    const end = performance.now() + 5000;
    while (!seen.has('t2') && performance.now() < end) {
      seen.add(await tokens.get());
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect([...seen]).toEqual(['t1', 't2']);
  });

  test('forgets a rejected token once', async () => {
    const tokens = createTokenCache(issuer(600).request);
    const first = await tokens.get();
    tokens.drop(first);
    expect(await tokens.get()).toBe('t2');
    tokens.drop(first);
    expect(await tokens.get()).toBe('t2');
  });

  test('requests again after a failure', async () => {
    const { request } = issuer(600);
    let failures = 1;
    const tokens = createTokenCache(async () => {
      if (failures > 0) {
        failures -= 1;
        throw new Error('unavailable');
      }
      return request();
    });
    await expect(tokens.get()).rejects.toThrow('unavailable');
    expect(await tokens.get()).toBe('t1');
  });
});
