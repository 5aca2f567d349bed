// requires: redis-server
/** The limits of requests, of wrong secrets and of stored bytes. */
import { createHash } from 'node:crypto';
import { until, wrappedStore } from '@gatehouse/testing';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { TryLaterError } from '../src/requests/failures.ts';
import { createFailedSecrets, type FailedSecrets } from '../src/throttle/failed-secrets.ts';
import { failedSecretLimit } from '../src/throttle/limits.ts';
import { chargeBudgets } from '../src/throttle/stored-budgets.ts';
import { startInProcess } from './in-process-server.ts';
import { machine, web } from './installation.ts';
import { as, machineGrant, openStores, outcome } from './server.ts';

const server = await startInProcess();
const rateLimit = { requests: 2, windowSeconds: 60 };
const limited = await startInProcess({
  app: {
    trustedProxies: ['127.0.0.1', '::1'],
    clientRateLimit: rateLimit,
    pageRateLimit: rateLimit,
  },
});

describe('the limit of requests from one address', () => {
  /** Sends a request that only a new address has sent, if the address is new. */
  const send = (address: string, method: string, path: string, { issuer } = limited) =>
    fetch(issuer + path, {
      method,
      headers: { 'x-forwarded-for': address },
      redirect: 'manual',
      ...(method === 'POST' && { body: new URLSearchParams({ client_id: 'nobody' }) }),
    });
  let lastAddress = 0;
  const newAddress = () => {
    lastAddress += 1;
    return `192.0.2.${lastAddress}`;
  };

  const clientEndpoints = ['/token', '/platform/oauth2/token', '/revoke', '/introspect', '/par'];
  test.each([
    ...[...clientEndpoints, '/device/auth'].map((path) => ['POST', path] as const),
    ['GET', '/authorize'],
    ['GET', '/authorize/an-interaction'],
    ['GET', '/sign-in/an-interaction'],
    ['POST', '/sign-in/an-interaction'],
    ['GET', '/account'],
    ['GET', '/device'],
    ['POST', '/device'],
    ['GET', '/device/an-interaction'],
    ['GET', '/logout'],
    ['POST', '/logout/confirm'],
  ] as const)('protects %s %s', async (method, path) => {
    const address = newAddress();
    for (let served = 0; served < rateLimit.requests; served += 1) {
      expect((await send(address, method, path)).status).not.toBe(429);
    }
    const rejected = await send(address, method, path);
    const isPage = !rejected.headers.get('content-type')?.startsWith('application/json');
    const text = isPage ? 'This network sends too many requests.' : '"error":"too_many_requests"';
    expect([rejected.status, await rejected.text()]).toEqual([429, expect.stringContaining(text)]);
    expect(rejected.headers.get('ratelimit')).toMatch(/; r=0; t=\d+$/);
    expect(rejected.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    const requestId = rejected.headers.get('x-request-id');
    const line = () => limited.logLines().find((each) => each.requestId === requestId);
    await until(() => line() !== undefined);
    expect(line()).toMatchObject({ code: 'too_many_requests', reason: 'request_limit' });
  });

  test('counts client endpoints, introspection and pages separately', async () => {
    const address = newAddress();
    const posts = ['/token', '/revoke', '/introspect', '/introspect'];
    const replies = [
      ...(await Promise.all(posts.map((path) => send(address, 'POST', path)))),
      ...(await Promise.all(['/device', '/logout'].map((path) => send(address, 'GET', path)))),
    ];
    expect(replies.map(({ status }) => status)).not.toContain(429);
    expect((await send(address, 'POST', '/par')).status).toBe(429);
  });

  test.each([
    ['POST', '/token', 6000],
    ['POST', '/introspect', 6000],
    ['GET', '/device', 1200],
  ])('of %s %s is %d a minute by default', async (method, path, limit) => {
    const { headers } = await send('', method, path, server);
    expect(headers.get('ratelimit-policy')).toMatch(`"address"; q=${limit}; w=60; pk=`);
  });
});

test.each([
  ['a client, by the fast path', web, {}],
  // The fast path leaves a request with another parameter to the provider.
  ['a client, by the provider', machine, { unknown: '1' }],
  ['an unknown client', { clientId: 'unknown', secureKey: web.secureKey }, {}],
])(
  'after too many wrong secrets of %s, even the right one gets 429',
  async (_who, client, extra) => {
    const request = async (secureKey: string) =>
      outcome(await server.token({ ...machineGrant, ...extra }, as({ ...client, secureKey })));
    for (let i = 0; i < failedSecretLimit.attempts; i += 1) {
      expect(await request('a wrong secret 0123')).toEqual([401, 'invalid_client']);
    }
    expect(await request(client.secureKey)).toEqual([429, 'too_many_requests']);
  },
);

test.each([
  [1, 1],
  [1000, 1],
  [1001, 2],
  [-5000, 1],
])(
  'a limit that ends in %d ms is reported as %d s, because 0 s would invite a retry at once',
  (milliseconds, seconds) => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(70_000);
    const error = new TryLaterError('client_secret_limit', 70_000 + milliseconds);
    clock.mockRestore();
    expect(error.retryAfterSeconds).toBe(seconds);
  },
);

const stores = await openStores();

describe.each(stores)('on $engine', ({ system: { store } }) => {
  test('a budget of stored bytes can be used up exactly, and rejects one byte more', async () => {
    const budgets = [{ party: 'address', bytes: 100 }];
    const charge = (bytes: number) =>
      chargeBudgets(store, { name: 'test', bytes, windowSeconds: 60, budgets });
    await charge(99);
    await charge(1);
    const rejected = charge(1);
    await expect(rejected).rejects.toBeInstanceOf(TryLaterError);
    await expect(rejected).rejects.toMatchObject({
      reason: 'stored_state_limit',
      message: 'Too much is stored for this address, this client, or all public clients.',
      retryAfterSeconds: expect.closeTo(60, -1),
    });
  });

  describe('wrong secrets of a client', () => {
    const { attempts, windowSeconds } = failedSecretLimit;
    let now = 0;
    let timesLimited = 0;
    let testNumber = 0;
    let address = '';
    beforeEach(() => {
      testNumber += 1;
      address = `198.51.100.${testNumber}`;
      now = Date.now();
      timesLimited = 0;
    });

    /** Shares only the store with other processes. */
    const newProcess = () =>
      createFailedSecrets({
        store,
        credentialHash: (value) => createHash('sha256').update(value).digest('base64url'),
        onLimited: () => {
          timesLimited += 1;
        },
        now: () => now,
      });
    const fail = async (process: FailedSecrets, clientId: string, count = attempts) => {
      for (let failed = 0; failed < count; failed += 1) {
        await process.record(clientId, address);
      }
    };

    test('reject the client at the address after the last allowed one, until the window ends', async () => {
      const secrets = newProcess();
      await fail(secrets, 'web', attempts - 1);
      await secrets.assertMayTry('web', address);
      await fail(secrets, 'web', 1);
      expect([await secrets.mayTry('web', address), timesLimited]).toEqual([false, 0]);
      await expect(secrets.assertMayTry('web', address)).rejects.toMatchObject({
        reason: 'client_secret_limit',
        // The clock of the store may differ by a second.
        retryAfterSeconds: expect.closeTo(windowSeconds, -1),
      });
      expect(timesLimited).toBe(1);
      expect(await secrets.mayTry('web', '192.0.2.1')).toBe(true);
      now += (windowSeconds - 5) * 1000;
      expect(await secrets.mayTry('web', address)).toBe(false);
      now += 10_000;
      expect(await secrets.mayTry('web', address)).toBe(true);
    });

    test('in another process count after one second, or if the clock is set back', async () => {
      const [here, there] = [newProcess(), newProcess()];
      expect(await here.mayTry('web', address)).toBe(true);
      await fail(there, 'web');
      now += 999;
      expect(await here.mayTry('web', address)).toBe(true);
      now += 1;
      expect(await here.mayTry('web', address)).toBe(false);

      const setBack = newProcess();
      await setBack.mayTry('other', address);
      await fail(there, 'other');
      now -= 10_000;
      expect(await setBack.mayTry('other', address)).toBe(false);
    });

    test('are read again for every request if the client id is long, which limits the memory', async () => {
      const longest = 'i'.repeat(256 - `${address} `.length);
      const [here, there] = [newProcess(), newProcess()];
      for (const clientId of [longest, `${longest}i`]) {
        await here.mayTry(clientId, address);
        await fail(there, clientId);
      }
      expect(await here.mayTry(longest, address)).toBe(true);
      expect(await here.mayTry(`${longest}i`, address)).toBe(false);
    });

    test('have at most 256 counters for an address, whatever the client ids', async () => {
      const counters = new Set<string>();
      const counting = wrappedStore(store, (run, operation, key) => {
        counters.add(operation === 'increment' ? key : '');
        return run();
      });
      const credentialHash = (value: string) =>
        createHash('sha256').update(value).digest('base64url');
      const secrets = createFailedSecrets({ store: counting, credentialHash });
      for (let i = 0; i < 1000; i += 1) {
        await secrets.record(`nobody-${i}`, address);
      }
      expect(counters.size).toBeLessThanOrEqual(257);
      expect(counters.size).toBeGreaterThan(200);
    });
  });
});
