import { StoreUnavailableError } from '@gatehouse/store';
import { afterEach, describe, expect, test } from '@jest/globals';
import { bootSuiteGateway } from './suite-gateway.ts';

const origin = 'https://app.example';
const clientId = 'browser-app';
/** The start of the keys that do not answer. Undefined: every key answers. */
let silent: string | undefined;
/** The keys that were used since an operation failed. */
let laterKeys: string[] = [];

const gateway = await bootSuiteGateway({
  around: async (run, operation, key) => {
    if (silent !== undefined && key.startsWith(silent)) {
      laterKeys = [];
      throw new StoreUnavailableError(operation, new Error('No reply.'), 'timeout');
    }
    laterKeys.push(key);
    return run();
  },
});
await gateway.saveClient({ clientId, corsOrigins: [origin] }, gateway.secureKey);
afterEach(() => {
  silent = undefined;
});

describe('after the store did not answer an operation of a request', () => {
  test('its 503 is unsigned in version 1, whose signatures are claimed, and signed in version 2', async () => {
    silent = 'rate:client:';
    const reply = await gateway.send('/api/device', { headers: gateway.signed({ clientId }) });
    expect([reply.status, reply.json.code]).toEqual([503, 'service_unavailable']);
    expect(reply.headers).not.toHaveProperty('x-sign');
    expect(laterKeys.filter((key) => key.startsWith('replay:'))).toEqual([]);

    const other = await gateway.send('/api/device', { headers: gateway.signedV2({ clientId }) });
    expect(other.status).toBe(503);
    expect(other.headers).toHaveProperty('x-sign-v2');
  });

  test.each(['token:', 'rate:address-credentials:'])(
    '%s the origins of clients are not read for its 503, which no cache may keep',
    async (key) => {
      silent = key;
      const headers = { Origin: origin, Authorization: 'Bearer never-issued' };
      const reply = await gateway.send('/api/device', { headers });

      expect(reply.status).toBe(503);
      expect(reply.headers).toMatchObject({ 'cache-control': 'no-store', vary: 'Origin' });
      expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
      expect(laterKeys).toEqual([]);
    },
  );
});
