// requires: redis-server
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Constellation,
  type RedisServer,
  startConstellation,
  startRedisServer,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { authorizationUrl, basic, bootstrap, requestToken, web } from './fixtures.ts';

let redis: RedisServer;
let system: Constellation;
let issuer: string;

beforeAll(async () => {
  redis = await startRedisServer();
  system = await startConstellation({
    engine: 'sqlite',
    bootstrap,
    apps: ['authorization-server'],
    environment: { STORE_URL: redis.url },
  });
  issuer = system.authorizationServerUrl;
});
afterAll(async () => {
  await system.stop();
  await redis.stop();
});

/** Sends a request and disconnects before the reply. */
function sendAndLeave(url: string): Promise<void> {
  const { hostname, port, pathname, search } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\n\r\n`, () => socket.destroy());
    });
    socket.on('close', () => resolve());
    socket.on('error', () => resolve());
  });
}

describe('callers that disconnect before the reply', () => {
  test('leave only records that expire', async () => {
    for (let batch = 0; batch < 50; batch += 1) {
      await Promise.all(Array.from({ length: 20 }, () => sendAndLeave(authorizationUrl(issuer))));
    }
    await sleep(100);
    const immortal = await redis.command(
      'EVAL',
      "local n = 0 for _, key in ipairs(redis.call('KEYS', 'oidc:*')) do if redis.call('PTTL', key) < 0 then n = n + 1 end end return n",
      '0',
    );
    expect(immortal.trim()).toBe(':0');
    expect((await requestToken(issuer, { grant_type: 'client_credentials' })).status).toBe(200);
  });
});

describe('an unavailable store', () => {
  test('makes a revocation 503, never 200, because the token stays valid', async () => {
    const { body } = await requestToken(issuer, { grant_type: 'client_credentials' });
    const revoke = () =>
      fetch(`${issuer}/revoke`, {
        method: 'POST',
        headers: { authorization: basic(web.clientId, web.secureKey) },
        body: new URLSearchParams({ token: body.access_token }),
      });
    redis.freeze();
    const rejected = await revoke();
    expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await rejected.json()).toMatchObject({ error: 'temporarily_unavailable' });
    redis.thaw();
    for (let attempt = 0; attempt < 50 && (await revoke()).status !== 200; attempt += 1) {
      await sleep(100);
    }
    expect((await revoke()).status).toBe(200);
  });
});
