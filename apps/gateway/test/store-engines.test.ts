// requires: redis-server

import { StoreUnavailableError } from '@gatehouse/store';
import { startRedisServer, storeEngines, until } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { bootSuiteGateway, onEngines, openGateway } from './suite-gateway.ts';

describe.each(await onEngines(bootSuiteGateway, storeEngines))(
  'the gateway on $engine',
  ({ system: gateway }) => {
    const get = (headers: Record<string, string>, query = '') =>
      gateway.send(`/api/device${query}`, { headers });

    test('accepts a token and a signed query, and rejects an unknown token', async () => {
      const query = 'pageSize=20&pageIndex=0';
      expect((await get(await gateway.bearer())).status).toBe(200);
      expect((await get(gateway.signed({ query }), `?${query}`)).status).toBe(200);
      expect((await get({ Authorization: 'Bearer nobody' })).status).toBe(401);
    });
  },
);

test.each(['killed', 'frozen'] as const)(
  'A store that is %s leads to a 503, never to a 401, a 2xx or a request without a limit.',
  async (fault) => {
    const redis = await startRedisServer();
    const gateway = await openGateway({ storeUrl: redis.url });
    const bearer = await gateway.bearer();
    const get = (headers: Record<string, string>) => gateway.send('/api/device', { headers });
    expect((await get(bearer)).status).toBe(200);
    gateway.upstream.requests.length = 0;
    await (fault === 'killed' ? redis.kill() : redis.freeze());
    for (const headers of [bearer, { Authorization: 'Bearer unknown' }, gateway.signed()]) {
      const reply = await get(headers);
      expect([reply.status, reply.json.code]).toEqual([503, 'service_unavailable']);
      expect(reply.headers['retry-after']).toBe('1');
      expect(reply.headers).not.toHaveProperty('x-sign');
      // test/faults measures the time. Without a deadline, a frozen store would never answer.
    }
    expect(gateway.upstream.requests).toEqual([]);
    expect(gateway.leakedSecrets()).toEqual([]);

    await (fault === 'killed' ? redis.restart() : redis.thaw());
    await until(async () => {
      await gateway.saveClient({}, gateway.secureKey);
      return (await get(await gateway.bearer())).status === 200;
    });
    await redis.stop();
  },
);

const origin = 'https://app.example';
const clientId = 'browser-app';
/** The start of the keys that do not answer. Undefined: every key answers. */
let silent: string | undefined;
/** The keys that were used since an operation failed. */
let laterKeys: string[] = [];

const faulty = await bootSuiteGateway({
  around: async (run, operation, key) => {
    if (silent !== undefined && key.startsWith(silent)) {
      laterKeys = [];
      throw new StoreUnavailableError(operation, new Error('No reply.'), 'timeout');
    }
    laterKeys.push(key);
    return run();
  },
});
await faulty.saveClient({ clientId, corsOrigins: [origin] }, faulty.secureKey);
afterEach(() => {
  silent = undefined;
});

describe('after the store did not answer an operation of a request', () => {
  test('its 503 is unsigned in version 1, whose signatures are claimed, and signed in version 2', async () => {
    silent = 'rate:client:';
    const reply = await faulty.send('/api/device', { headers: faulty.signed({ clientId }) });
    expect([reply.status, reply.json.code]).toEqual([503, 'service_unavailable']);
    expect(reply.headers).not.toHaveProperty('x-sign');
    expect(laterKeys.filter((key) => key.startsWith('replay:'))).toEqual([]);

    const other = await faulty.send('/api/device', { headers: faulty.signedV2({ clientId }) });
    expect(other.status).toBe(503);
    expect(other.headers).toHaveProperty('x-sign-v2');
  });

  test.each(['token:', 'rate:address-credentials:'])(
    '%s the origins of clients are not read for its 503, which no cache may keep',
    async (key) => {
      silent = key;
      const headers = { Origin: origin, Authorization: 'Bearer never-issued' };
      const reply = await faulty.send('/api/device', { headers });

      expect(reply.status).toBe(503);
      expect(reply.headers).toMatchObject({ 'cache-control': 'no-store', vary: 'Origin' });
      expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
      expect(laterKeys).toEqual([]);
    },
  );
});
