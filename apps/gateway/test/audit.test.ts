// requires: redis-server

import { until } from '@gatehouse/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { bootSuiteGateway, onEngines } from './suite-gateway.ts';

describe.each(await onEngines(bootSuiteGateway))(
  'the audit of the gateway on $engine',
  ({ system: gateway }) => {
    const { audit } = gateway.identity;
    const known = new Set<string>();

    /** Entries that were not returned before. A reply does not wait for its entry. */
    async function newEntries() {
      await audit.flush();
      const entries = await audit.read({ limit: 100 });
      return entries.filter(({ id }) => !known.has(id));
    }

    async function recorded() {
      await until(async () => (await newEntries()).length > 0);
      const entries = await newEntries();
      for (const { id } of entries) {
        known.add(id);
      }
      return entries;
    }

    // The first forwarded request creates the signing key, which is recorded, too.
    beforeEach(async () => {
      if (known.size === 0) {
        await gateway.send('/api/device', { headers: await gateway.bearer() });
        await recorded();
      }
    });

    const from = {
      id: expect.any(String),
      at: expect.any(String),
      actor: 'gateway',
      address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
    };

    test('records an invalid signature once, with the client if it is registered', async () => {
      const own = gateway.signed({ query: 'a=1' });
      const reply = await gateway.send('/api/device?a=2', { headers: own });
      const refused = {
        ...from,
        event: 'signature_refused',
        reason: expect.any(String),
        severity: 'warning',
        outcome: 'failure',
        requestId: reply.headers['x-request-id'],
      };
      expect(reply.json.code).toBe('invalid_signature');
      expect(await recorded()).toEqual([{ ...refused, clientId: gateway.clientId }]);

      const ids: unknown[] = [];
      for (const clientId of ['nobody', 'x'.repeat(200)]) {
        const headers = { ...own, 'X-Client-Id': clientId };
        const { status, headers: received } = await gateway.send('/api/device?a=2', { headers });
        expect(status).toBe(401);
        ids.push(received['x-request-id']);
      }
      const strangers = { severity: 'noise', count: 2, lastAt: expect.any(String) };
      await until(async () => (await newEntries())[0]?.count === 2);
      const entries = await recorded();
      expect(entries).toEqual([{ ...refused, ...strangers, requestId: expect.any(String) }]);
      expect(ids).toContain(entries[0]?.requestId);
      expect(JSON.stringify(entries)).not.toContain(own['X-Sign']);
    });

    test('records a replay once', async () => {
      const headers = gateway.signed({ query: 'b=1' });
      expect((await gateway.send('/api/device?b=1', { headers })).status).toBe(200);
      const again = await gateway.send('/device-instance?b=1', { method: 'DELETE', headers });

      expect(again.json.code).toBe('replayed_request');
      expect(await recorded()).toEqual([
        {
          ...from,
          event: 'request_replayed',
          reason: expect.any(String),
          severity: 'alert',
          outcome: 'failure',
          clientId: gateway.clientId,
          requestId: again.headers['x-request-id'],
        },
      ]);
    });

    test('records a token for a signed request once, without the token', async () => {
      const body = '{}';
      const headers = { 'Content-Type': 'application/json', ...gateway.signed({ body }) };
      const reply = await gateway.send('/api/v1/token', { method: 'POST', headers, body });
      gateway.keepSecret(reply.json.result);
      const entries = await recorded();

      expect(entries).toEqual([
        {
          ...from,
          event: 'token_issued',
          grant: 'signed_request',
          severity: 'info',
          outcome: 'success',
          clientId: gateway.clientId,
          requestId: reply.headers['x-request-id'],
        },
      ]);
      expect(JSON.stringify(entries)).not.toContain(reply.json.result);
    });
  },
);
