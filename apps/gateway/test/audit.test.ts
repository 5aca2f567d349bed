// requires: redis-server

import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedisServer } from '@gatehouse/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send } from './http-client.ts';

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

describe.each(['sqlite', 'redis'])('the audit of the gateway on %s', (engine) => {
  let booted: BootedGateway;
  let since: string;

  beforeAll(async () => {
    booted = await bootGateway(engine === 'redis' ? { storeUrl: redis.url } : {});
  });
  afterAll(() => closeUnharmed(booted));
  beforeEach(async () => {
    await booted.identity.audit.flush();
    await sleep(2);
    since = new Date().toISOString();
  });

  const from = {
    id: expect.any(String),
    at: expect.any(String),
    actor: 'gateway',
    address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
  };

  async function recorded() {
    // A reply does not wait for its entry.
    await sleep(100);
    await booted.identity.audit.flush();
    return booted.identity.audit.read({ since, limit: 10 });
  }

  test('records an invalid signature once, with the client if it is registered', async () => {
    const own = booted.signed({ query: 'a=1' });
    const reply = await send(booted.port, '/api/device?a=2', { headers: own });
    const refused = {
      ...from,
      event: 'signature_refused',
      reason: expect.any(String),
      severity: 'warning',
      outcome: 'failure',
      requestId: reply.headers['x-request-id'],
    };
    expect(reply.json.code).toBe('invalid_signature');
    expect(await recorded()).toEqual([{ ...refused, clientId: booted.clientId }]);

    since = new Date().toISOString();
    for (const clientId of ['nobody', 'x'.repeat(200)]) {
      const headers = { ...own, 'X-Client-Id': clientId };
      expect((await send(booted.port, '/api/device?a=2', { headers })).status).toBe(401);
    }
    const entries = await recorded();
    const strangers = { severity: 'noise', count: 2, lastAt: expect.any(String) };
    expect(entries).toEqual([{ ...refused, ...strangers, requestId: expect.any(String) }]);
    expect(JSON.stringify(entries)).not.toContain(own['X-Sign']);
  });

  test('records a replay once', async () => {
    const headers = booted.signed({ query: 'b=1' });
    expect((await send(booted.port, '/api/device?b=1', { headers })).status).toBe(200);
    // The first forwarded request also creates the signing key, which is recorded too.
    await booted.identity.audit.flush();
    await sleep(2);
    since = new Date().toISOString();
    const again = await send(booted.port, '/device-instance?b=1', { method: 'DELETE', headers });

    expect(again.json.code).toBe('replayed_request');
    expect(await recorded()).toEqual([
      {
        ...from,
        event: 'request_replayed',
        reason: expect.any(String),
        severity: 'alert',
        outcome: 'failure',
        clientId: booted.clientId,
        requestId: again.headers['x-request-id'],
      },
    ]);
  });

  test('records a token for a signed request once, without the token', async () => {
    const headers = { 'Content-Type': 'application/json', ...booted.signed({ body: '{}' }) };
    const reply = await send(booted.port, '/api/v1/token', { method: 'POST', headers, body: '{}' });
    booted.keepSecret(reply.json.result);
    const entries = await recorded();

    expect(reply.status).toBe(200);
    expect(entries).toEqual([
      {
        ...from,
        event: 'token_issued',
        grant: 'signed_request',
        severity: 'info',
        outcome: 'success',
        clientId: booted.clientId,
        requestId: reply.headers['x-request-id'],
      },
    ]);
    expect(JSON.stringify(entries)).not.toContain(reply.json.result);
  });
});
