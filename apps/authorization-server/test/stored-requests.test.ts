// requires: redis-server
import { afterEach, describe, expect, test } from '@jest/globals';
import { storedRequestLimits } from '../src/throttle/stored-budgets.ts';
import { browserApp, web } from './installation.ts';
import { asWeb, outcome, startOnEngines } from './server.ts';

const { pushed } = storedRequestLimits;
const ofClient = `client:${browserApp.clientId}`;
const ofWeb = `client:${web.clientId}`;
const keyOf = (party: string) => `stored-bytes:pushed:${party}`;

const systems = await startOnEngines({ environment: { TRUSTED_PROXIES: '127.0.0.0/8, ::1' } });

describe.each(systems)(
  'a request of an anonymous caller in the store, on $engine',
  ({ system }) => {
    const { store, first } = system;
    const parties = ['address:192.0.2.1', 'address:192.0.2.2', ofClient, 'public', ofWeb];
    afterEach(() => store.delete(parties.map(keyOf)));

    const push = (address: string) =>
      first.post(
        '/par',
        {
          ...{ response_type: 'code', scope: 'device:read', client_id: browserApp.clientId },
          ...{ redirect_uri: browserApp.redirectUri, code_challenge: 'c'.repeat(43) },
          code_challenge_method: 'S256',
        },
        { 'x-forwarded-for': address },
      );
    const pushAsWeb = async () => {
      const fields = { response_type: 'code', client_id: 'web', redirect_uri: web.redirectUri };
      return (await first.post('/par', fields, { ...asWeb, 'x-forwarded-for': '192.0.2.1' }))
        .status;
    };
    const spend = (party: string, bytes: number) =>
      store.increment(keyOf(party), pushed.windowSeconds, bytes);
    const spent = async (party: string) => (await store.increment(keyOf(party), 60, 0)).count;

    test('is charged to the address, the client and all public clients', async () => {
      expect((await push('192.0.2.1')).status).toBe(201);
      const charged = await spent('address:192.0.2.1');
      expect(charged).toBeGreaterThan(1024);
      expect([await spent(ofClient), await spent('public')]).toEqual([charged, charged]);
    });

    test.each([
      ['address:192.0.2.1', pushed.addressBytes],
      [ofClient, pushed.clientBytes],
      ['public', pushed.publicBytes],
    ])('is rejected if the budget %s is used up', async (party, bytes) => {
      await spend(party, bytes);
      const reply = await push('192.0.2.1');
      expect(outcome(reply)).toEqual([429, 'too_many_requests']);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(reply.body.error_description).toBe(
        'Too much is stored for this address, this client, or all public clients. Try again later.',
      );
      // A client that authenticates has its own budget.
      expect(await pushAsWeb()).toBe(201);
    });

    test('is not charged to other budgets if the address is over its budget', async () => {
      await spend('address:192.0.2.1', pushed.addressBytes);
      for (let i = 0; i < 3; i += 1) {
        expect((await push('192.0.2.1')).status).toBe(429);
      }
      expect([await spent(ofClient), await spent('public')]).toEqual([0, 0]);
      expect((await push('192.0.2.2')).status).toBe(201);
    });

    test('is rejected for an authenticated client if its own budget is used up', async () => {
      await spend(ofWeb, pushed.clientBytes);
      expect(await pushAsWeb()).toBe(429);
    });
  },
);
