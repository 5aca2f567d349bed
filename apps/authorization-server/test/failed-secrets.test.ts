// requires: redis-server

import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createFailedSecrets, type FailedSecrets } from '../src/throttle/failed-secrets.ts';
import { failedSecretLimit } from '../src/throttle/limits.ts';
import { openSuiteStores } from './suite-stores.ts';

const stores = await openSuiteStores();

describe.each(stores)('wrong secrets of a client on $engine', ({ system: { store } }) => {
  let now: number;
  let limited: number;
  let testNumber = 0;
  let address = '';
  beforeEach(() => {
    testNumber += 1;
    address = `198.51.100.${testNumber}`;
    now = Date.now();
    limited = 0;
  });

  /** Shares only the store with other processes. */
  const newProcess = () =>
    createFailedSecrets({
      store,
      credentialHash: (value) => createHash('sha256').update(value).digest('base64url'),
      onLimited: () => {
        limited += 1;
      },
      now: () => now,
    });
  const fail = async (process: FailedSecrets, clientId: string, count: number) => {
    for (let failed = 0; failed < count; failed += 1) {
      await process.record(clientId, address);
    }
  };

  test('reject the client at the address after the last allowed one', async () => {
    const secrets = newProcess();
    await fail(secrets, 'web', failedSecretLimit.attempts - 1);
    expect(await secrets.mayTry('web', address)).toBe(true);
    await secrets.assertMayTry('web', address);
    await fail(secrets, 'web', 1);
    expect(await secrets.mayTry('web', address)).toBe(false);
    expect(limited).toBe(0);
    await expect(secrets.assertMayTry('web', address)).rejects.toMatchObject({
      reason: 'client_secret_limit',
      // The clock of the store may differ by a second.
      retryAfterSeconds: expect.closeTo(failedSecretLimit.windowSeconds, -1),
    });
    expect(limited).toBe(1);
    expect(await secrets.mayTry('web', '192.0.2.1')).toBe(true);
  });

  test('are counted until the end of the window', async () => {
    const secrets = newProcess();
    await fail(secrets, 'web', failedSecretLimit.attempts);
    now += (failedSecretLimit.windowSeconds - 5) * 1000;
    expect(await secrets.mayTry('web', address)).toBe(false);
    now += 10_000;
    expect(await secrets.mayTry('web', address)).toBe(true);
  });

  test('in another process count after one second, or if the clock is set back', async () => {
    const [here, there] = [newProcess(), newProcess()];
    expect(await here.mayTry('web', address)).toBe(true);
    await fail(there, 'web', failedSecretLimit.attempts);
    now += 999;
    expect(await here.mayTry('web', address)).toBe(true);
    now += 1;
    expect(await here.mayTry('web', address)).toBe(false);

    const setBack = newProcess();
    await setBack.mayTry('other', address);
    await fail(there, 'other', failedSecretLimit.attempts);
    now -= 10_000;
    expect(await setBack.mayTry('other', address)).toBe(false);
  });

  test('are read again for every request if the client id is long, which limits the memory', async () => {
    const longest = 'i'.repeat(256 - `${address} `.length);
    const ids = { remembered: longest, notRemembered: `${longest}i` };
    const [here, there] = [newProcess(), newProcess()];
    for (const clientId of Object.values(ids)) {
      await here.mayTry(clientId, address);
      await fail(there, clientId, failedSecretLimit.attempts);
    }
    expect(await here.mayTry(ids.remembered, address)).toBe(true);
    expect(await here.mayTry(ids.notRemembered, address)).toBe(false);
  });
});
