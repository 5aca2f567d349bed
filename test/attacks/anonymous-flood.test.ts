// requires: redis-server
/**
 * Anonymous callers try to fill a small Redis while a user and an application use every feature.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createVirtualUser, manyUsers, startRedisServer, userClient } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Attack, flood } from './flood.ts';

const MIB = 1024 * 1024;
const MAXIMUM_MEMORY = '64mb';
const people = manyUsers(1);
const tv = 'attacked-tv';
const application = 'attacked-application';
const publicClient = { orgId: 'org-1', public: true, scopes: ['device:read'] };
const bootstrap = {
  ...people,
  clients: [
    ...people.clients,
    {
      ...publicClient,
      clientId: tv,
      name: 'TV',
      grantTypes: ['urn:ietf:params:oauth:grant-type:device_code'],
    },
    {
      ...publicClient,
      clientId: application,
      name: 'Application',
      grantTypes: ['authorization_code'],
      redirectUris: ['https://attacked.example/callback'],
    },
  ],
};

const redis = await startRedisServer({ arguments: ['--maxmemory', MAXIMUM_MEMORY] });
afterAll(redis.stop);
const system = await startSystem({
  engine: 'sqlite',
  bootstrap,
  environment: {
    STORE_URL: redis.url,
    TRUSTED_PROXIES: '127.0.0.0/8,::1',
    LOG_LEVEL: 'error',
  },
});

async function usedMemory(): Promise<number> {
  const [, bytes = 'NaN'] = /used_memory:(\d+)/.exec(await redis.command('INFO', 'memory')) ?? [];
  return Number(bytes);
}

/** @param addressOf the claimed address of a request */
function attacksFrom(addressOf: (sequence: number) => string): Readonly<Record<string, Attack>> {
  const { authorizationServerUrl: issuer, gatewayUrl } = system;
  const long = 'x'.repeat(14_000);
  const fitting = 'x'.repeat(3700);
  const authorization = {
    response_type: 'code',
    client_id: application,
    scope: 'device:read',
    redirect_uri: 'https://attacked.example/callback',
    code_challenge: 'c'.repeat(43),
    code_challenge_method: 'S256',
  };
  const numbered = (text: string, sequence: number) => text.replace('NUMBER', String(sequence));
  const get = (url: string, headers: Record<string, string> = {}): Attack => {
    return (sequence) => ({
      url: numbered(url, sequence),
      headers: { 'x-forwarded-for': addressOf(sequence), ...headers },
    });
  };
  const post = (path: string, form: Record<string, string>): Attack => {
    return (sequence) => ({
      url: issuer + path,
      method: 'POST',
      headers: {
        'x-forwarded-for': addressOf(sequence),
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: numbered(String(new URLSearchParams(form)), sequence),
    });
  };
  const authorize = (hint: string) =>
    `${issuer}/authorize?${new URLSearchParams({ ...authorization, login_hint: hint })}`;
  return {
    'authorize, too long': get(authorize(long)),
    'authorize, as long as allowed': get(authorize(fitting)),
    logout: get(`${issuer}/logout?state=${fitting}NUMBER`),
    'device page': get(`${issuer}/device`),
    'device codes': post('/device/auth', { client_id: tv, login_hint: fitting }),
    'pushed requests': post('/par', { ...authorization, login_hint: fitting }),
    introspection: post('/introspect', { client_id: 'nobody-NUMBER', token: 'x' }),
    'wrong secrets': post('/token', {
      grant_type: 'client_credentials',
      client_id: 'nobody-NUMBER',
      client_secret: 'a wrong secret',
    }),
    'wrong bearer tokens': get(`${gatewayUrl}/api/device`, { authorization: 'Bearer NUMBER' }),
    'wrong signatures': get(`${gatewayUrl}/api/device`, {
      'x-client-id': 'app-0',
      'x-timestamp': String(Date.now()),
      'x-sign': 'f'.repeat(64),
    }),
  };
}

/** Attacks while the virtual user continues, and reports the result of each attack. */
async function attack(addressOf: (sequence: number) => string, seconds: number) {
  const user = createVirtualUser({
    authorizationServerUrl: system.authorizationServerUrl,
    gatewayUrl: system.gatewayUrl,
    ...userClient(0),
  });
  const before = await usedMemory();
  let most = before;
  let rounds = 0;
  let isOver = false;
  const use = async () => {
    while (!isOver) {
      await user.round();
      rounds += 1;
    }
  };
  const watch = async () => {
    while (!isOver) {
      most = Math.max(most, await usedMemory());
      await sleep(100);
    }
  };
  const running = [use(), watch()];
  const result = await flood(attacksFrom(addressOf), { connections: 6, seconds });
  isOver = true;
  await Promise.all(running);
  return { ...result, rounds, grown: most - before, disappointments: user.disappointments };
}

describe('an anonymous flood', () => {
  test.each([
    ['one address group', () => '192.0.2.1', 16],
    [
      '100 address groups',
      (sequence: number) => `198.51.100.${Math.floor(sequence / 10) % 100}`,
      64,
    ],
  ] as const)(
    'from %s fills a bounded part of the store, and does not affect other callers',
    async (_name, addressOf, mebibytes) => {
      const { statuses, requests, rounds, grown, disappointments } = await attack(addressOf, 25);
      const outcomes = [...statuses].map(([name, counts]) => [name, Object.fromEntries(counts)]);
      process.stdout.write(
        `${requests} requests, ${rounds} rounds of the virtual user, the store grew by ${(grown / MIB).toFixed(1)} MiB: ${JSON.stringify(Object.fromEntries(outcomes))}\n`,
      );
      expect(disappointments).toEqual([]);
      expect(rounds).toBeGreaterThan(0);
      expect(grown).toBeLessThan(mebibytes * MIB);
      // Checks that each request reached its target. Otherwise, there was no attack.
      for (const [name, counts] of statuses) {
        expect([name, counts.get(404) ?? 0, counts.get(0) ?? 0]).toEqual([name, 0, 0]);
      }
      expect(requests).toBeGreaterThan(500);
    },
  );
});
