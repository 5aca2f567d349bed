// requires: redis-server postgresql prometheus
// runs alone: it has deadlines of seconds under load
/** A real Prometheus watches real apps: each fault causes its alert, and no other. */
import { createHash } from 'node:crypto';
import {
  basic,
  type Constellation,
  type FaultProxy,
  type PostgresServer,
  type RedisServer,
  startConstellation,
  startFaultProxy,
  startPostgresServer,
  startRedisServer,
  until,
} from '@gatehouse/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { oneClient } from './one-client.ts';
import { type Prometheus, startPrometheus } from './real-prometheus.ts';

const secureKey = 'alertsKey0123456789abcdef';
const DEADLINE_SECONDS = 60;
const TEST_MILLISECONDS = 150_000;

let redis: RedisServer;
let postgres: PostgresServer;
let network: FaultProxy;
let system: Constellation;
let prometheus: Prometheus;
let traffic: NodeJS.Timeout;
let token = '';

beforeAll(async () => {
  [redis, postgres, network] = await Promise.all([
    startRedisServer({ arguments: ['--appendonly', 'yes', '--maxmemory', '64mb'] }),
    startPostgresServer(),
    startFaultProxy(),
  ]);
  system = await startConstellation({
    engine: { storeUrl: redis.url, storedText: async () => '', stop: redis.stop },
    bootstrap: oneClient(secureKey),
    environment: {
      DATABASE_URL: postgres.url,
      DEVICE_SERVICE_URL: `http://127.0.0.1:${network.port}`,
      ADDRESS_RATE_LIMIT: '1000000/60',
      LOG_LEVEL: 'warn',
    },
  });
  network.lead(Number(new URL(system.deviceServiceUrl).port));
  token = await issueToken();
  prometheus = await startPrometheus(system.members);
  traffic = setInterval(() => void callDevices(), 100);
});
afterAll(async () => {
  clearInterval(traffic);
  await prometheus.stop();
  await system.stop();
  await postgres.stop();
  await network.stop();
});

async function issueToken(secret = secureKey): Promise<string> {
  const reply = await fetch(`${system.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: basic('one', secret) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return ((await reply.json()) as { access_token?: string }).access_token ?? '';
}

function callDevices(headers: Record<string, string> = { authorization: `Bearer ${token}` }) {
  return fetch(`${system.gatewayUrl}/api/device`, { headers }).then(
    (reply) => reply.text(),
    () => undefined,
  );
}

/** Waits for the alert, checks that it is the only one, and waits until it ends. */
async function expectOnly(alert: string, repair: () => unknown = () => undefined): Promise<void> {
  await until(async () => (await prometheus.firing()).includes(alert), DEADLINE_SECONDS);
  expect(await prometheus.firing()).toEqual([alert]);
  await repair();
  await until(async () => (await prometheus.firing()).length === 0, DEADLINE_SECONDS);
}

test(
  'nothing fires while everything works',
  async () => {
    const scrapes = async () => {
      const query = 'min(count_over_time(up[1h]))';
      const reply = await fetch(
        `${prometheus.url}/api/v1/query?query=${encodeURIComponent(query)}`,
      );
      const { data } = (await reply.json()) as { data: { result: { value: [number, string] }[] } };
      return Number(data.result[0]?.value[1] ?? 0);
    };
    await until(async () => (await scrapes()) >= 10, DEADLINE_SECONDS);
    expect(await prometheus.firing()).toEqual([]);
  },
  TEST_MILLISECONDS,
);

test(
  'a service that does not answer: GatehouseUpstreamStopped',
  async () => {
    network.cut('clients');
    await expectOnly('GatehouseUpstreamStopped', () => network.heal());
  },
  TEST_MILLISECONDS,
);

test(
  'a frozen Redis: GatehouseStoreUnavailable',
  async () => {
    redis.freeze();
    await expectOnly('GatehouseStoreUnavailable', () => redis.thaw());
  },
  TEST_MILLISECONDS,
);

test(
  'a stopped PostgreSQL: GatehouseDatabaseUnavailable',
  async () => {
    await postgres.shutDown();
    await expectOnly('GatehouseDatabaseUnavailable', () => postgres.restart());
  },
  TEST_MILLISECONDS,
);

test(
  'a full Redis: GatehouseStoreFull',
  async () => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    await expectOnly('GatehouseStoreFull', () =>
      redis.command('CONFIG', 'SET', 'maxmemory', '64mb'),
    );
  },
  TEST_MILLISECONDS,
);

test(
  'an app that was killed: GatehouseAppDown',
  async () => {
    const app = system.members.find((member) => member.app === 'authorization-server');
    await app?.process.kill();
    await expectOnly('GatehouseAppDown', () => app?.start());
  },
  TEST_MILLISECONDS,
);

test(
  'a signature that is used twice: GatehouseCredentialReplayed',
  async () => {
    const body = '{}';
    const timestamp = String(Date.now());
    const sign = createHash('sha256').update(`${body}${timestamp}${secureKey}`).digest('hex');
    const send = () =>
      fetch(`${system.gatewayUrl}/api/v1/token`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-client-id': 'one',
          'x-timestamp': timestamp,
          'x-sign': sign,
        },
        body,
      });
    expect((await send()).status).toBe(200);
    expect((await send()).status).toBe(401);
    await expectOnly('GatehouseCredentialReplayed');
  },
  TEST_MILLISECONDS,
);

test(
  'guessed secrets: GatehouseSecretsGuessed',
  async () => {
    const guessing = setInterval(() => void issueToken('wrong').catch(() => undefined), 20);
    try {
      await expectOnly('GatehouseSecretsGuessed', () => clearInterval(guessing));
    } finally {
      clearInterval(guessing);
    }
  },
  TEST_MILLISECONDS,
);
