import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '@gatehouse/identity';
import { describe, expect, test } from '@jest/globals';
import { shareInFlight } from './authenticate.ts';

const alice: Principal = {
  clientId: 'web',
  orgId: 'org-1',
  userId: 'alice',
  user: undefined,
  signIn: undefined,
  subject: 'alice',
  scopes: new Set(),
  resource: undefined,
};

/** A verifier whose results the test controls. */
function createVerifier() {
  const running: PromiseWithResolvers<Principal | undefined>[] = [];
  const verify = shareInFlight(() => {
    const verification = Promise.withResolvers<Principal | undefined>();
    running.push(verification);
    return verification.promise;
  });
  return { running, verify };
}

describe('concurrent verifications of a token', () => {
  test('share one result per token', async () => {
    const { running, verify } = createVerifier();
    const answers = [verify('one'), verify('one'), verify('two')];
    expect(running).toHaveLength(2);
    running[0]?.resolve(alice);
    running[1]?.resolve(undefined);
    expect(await Promise.all(answers)).toEqual([alice, alice, undefined]);
  });

  test('are not cached: a later request verifies the token again', async () => {
    const { running, verify } = createVerifier();
    const first = verify('token');
    running[0]?.resolve(alice);
    expect(await first).toBe(alice);
    const second = verify('token');
    expect(running).toHaveLength(2);
    running[1]?.reject(new Error('unavailable'));
    await expect(second).rejects.toThrow('unavailable');
    const third = verify('token');
    expect(running).toHaveLength(3);
    running[2]?.resolve(undefined);
    expect(await third).toBeUndefined();
  });

  test('are not shared when the store is slow: the result may precede a revocation', async () => {
    const { running, verify } = createVerifier();
    const slow = verify('token');
    await sleep(30);
    const later = verify('token');
    expect(running).toHaveLength(2);
    running[1]?.resolve(undefined);
    expect(await later).toBeUndefined();
    running[0]?.resolve(alice);
    expect(await slow).toBe(alice);
  });
});
