import { StoreUnavailableError } from '@gatehouse/store';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send } from './http-client.ts';

const origin = 'https://app.example';
const clientId = 'browser-app';
let booted: BootedGateway;
/** The start of the keys that do not answer. Undefined: every key answers. */
let silent: string | undefined;
/** The keys that were used since an operation failed. */
let laterKeys: string[] = [];

beforeAll(async () => {
  booted = await bootGateway({
    around: async (run, operation, key) => {
      if (silent !== undefined && key.startsWith(silent)) {
        laterKeys = [];
        throw new StoreUnavailableError(operation, new Error('No reply.'), 'timeout');
      }
      laterKeys.push(key);
      return run();
    },
  });
  await booted.saveClient({ clientId, corsOrigins: [origin] }, booted.secureKey);
});
beforeEach(() => {
  silent = undefined;
  laterKeys = [];
});
afterAll(async () => {
  silent = undefined;
  await closeUnharmed(booted);
});

describe('after the store did not answer an operation of a request', () => {
  test('the signature of its 503 is not claimed, so the 503 is unsigned', async () => {
    silent = 'rate:client:';
    const reply = await send(booted.port, '/api/device', { headers: booted.signed({ clientId }) });

    expect([reply.status, reply.json.code]).toEqual([503, 'service_unavailable']);
    expect(reply.headers).not.toHaveProperty('x-sign');
    expect(laterKeys.filter((key) => key.startsWith('replay:'))).toEqual([]);
  });

  test('its 503 is signed in version 2, which needs no claim', async () => {
    silent = 'rate:client:';
    const reply = await send(booted.port, '/api/device', {
      headers: booted.signedV2({ clientId }),
    });

    expect(reply.status).toBe(503);
    expect(reply.headers).toHaveProperty('x-sign-v2');
  });

  test.each(['token:', 'rate:address-credentials:'])(
    '%s the origins of clients are not read for its 503, which no cache may keep',
    async (key) => {
      silent = key;
      const reply = await send(booted.port, '/api/device', {
        headers: { Origin: origin, Authorization: 'Bearer never-issued' },
      });

      expect(reply.status).toBe(503);
      expect(reply.headers).toMatchObject({ 'cache-control': 'no-store', vary: 'Origin' });
      expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
      expect(laterKeys).toEqual([]);
    },
  );
});
