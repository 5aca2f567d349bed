// requires: redis-server redis-cli

import { createHmac } from 'node:crypto';
import { listStoredKeys } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createFailedSecrets } from '../src/throttle/failed-secrets.ts';
import { storedRequestLimits } from '../src/throttle/stored-budgets.ts';
import { basic, web } from './fixtures.ts';
import { startGrantsSystems } from './grants-fixtures.ts';

const application = 'app';
const redirectUri = 'https://public.example/callback';
const { pushed } = storedRequestLimits;
const parties = ['address:192.0.2.1', 'address:192.0.2.2', `client:${application}`, 'public'];
const keyOf = (party: string) => `stored-bytes:pushed:${party}`;

const systems = await startGrantsSystems({ TRUSTED_PROXIES: '127.0.0.0/8, ::1' }, 1);

describe.each(systems)(
  'a request of an anonymous caller in the store, on $engine',
  ({ system }) => {
    afterEach(() => system.store.delete([...parties, `client:${web.clientId}`].map(keyOf)));

    const pushFrom = (address: string, parameters: Record<string, string>, headers = {}) =>
      fetch(`${system.first}/par`, {
        method: 'POST',
        headers: { 'x-forwarded-for': address, ...headers },
        body: new URLSearchParams({ response_type: 'code', ...parameters }),
      });
    const push = (address: string) =>
      pushFrom(address, {
        client_id: application,
        redirect_uri: redirectUri,
        scope: 'device:read',
        code_challenge: 'c'.repeat(43),
        code_challenge_method: 'S256',
      });
    const pushAsWeb = () =>
      pushFrom(
        '192.0.2.1',
        { client_id: web.clientId, redirect_uri: web.redirectUri },
        { authorization: basic(web.clientId, web.secureKey) },
      );
    const spend = (party: string, bytes: number) =>
      system.store.increment(keyOf(party), pushed.windowSeconds, bytes);
    const spent = async (party: string) =>
      (await system.store.increment(keyOf(party), 60, 0)).count;

    test('is charged to the address, the client and all public clients', async () => {
      expect((await push('192.0.2.1')).status).toBe(201);
      const charged = await spent('address:192.0.2.1');
      expect(charged).toBeGreaterThan(1024);
      expect([await spent(`client:${application}`), await spent('public')]).toEqual([
        charged,
        charged,
      ]);
    });

    test.each([
      ['an address', 'address:192.0.2.1', pushed.addressBytes],
      ['a client', `client:${application}`, pushed.clientBytes],
      ['all public clients', 'public', pushed.publicBytes],
    ])('is rejected if the budget of %s is used up', async (_name, party, bytes) => {
      await spend(party, bytes);
      const reply = await push('192.0.2.1');
      expect(reply.status).toBe(429);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      const { error, error_description: description } = (await reply.json()) as Record<
        string,
        string
      >;
      expect(error).toBe('too_many_requests');
      expect(description).toBe(
        'Too much is stored for this address, this client, or all public clients. Try again later.',
      );
      // A client that authenticates has its own budget.
      expect((await pushAsWeb()).status).toBe(201);
    });

    test('is not charged to other budgets if the address is over its budget', async () => {
      await spend('address:192.0.2.1', pushed.addressBytes);
      for (let i = 0; i < 3; i += 1) {
        expect((await push('192.0.2.1')).status).toBe(429);
      }
      expect([await spent(`client:${application}`), await spent('public')]).toEqual([0, 0]);
      expect((await push('192.0.2.2')).status).toBe(201);
    });

    test('is rejected for an authenticated client if its own budget is used up', async () => {
      await spend(`client:${web.clientId}`, pushed.clientBytes);
      expect((await pushAsWeb()).status).toBe(429);
    });

    test('adds at most 256 counters of wrong secrets for an address, whatever its client ids', async () => {
      const credentialHash = (value: string) =>
        createHmac('sha256', 'pepper').update(value).digest('base64url');
      const failedSecrets = createFailedSecrets({ store: system.store, credentialHash });
      for (let i = 0; i < 1000; i += 1) {
        await failedSecrets.record(`nobody-${i}`, '192.0.2.9');
      }
      const keys = (await listStoredKeys(system.storeUrl)).filter(({ key }) =>
        key.startsWith('failed-secrets:192.0.2.9:'),
      );
      expect(keys.length).toBeLessThanOrEqual(256);
      expect(keys.length).toBeGreaterThan(200);
    });
  },
);
