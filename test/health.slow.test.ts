// requires: redis-server
// runs alone: it has deadlines of seconds under load
/** `/ready` names missing dependencies with every engine, and the metrics agree. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AppName,
  type AppProcess,
  freePort,
  parseMetrics,
  type RedisServer,
  startApp,
  startRedisServer,
  until,
} from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';

const directory = temporaryFolder();
let redis: RedisServer;
let app: AppProcess | undefined;
let operationsUrl: string;

beforeAll(async () => {
  redis = await startRedisServer();
});
afterEach(() => app?.stop());
afterAll(() => redis.stop());

function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

/** Starts an app while Redis is down. The store will be empty. */
async function startWithoutRedis(name: AppName, bootstrap: object, more = {}): Promise<void> {
  await redis.kill();
  const BOOTSTRAP_FILE = file('bootstrap.json', JSON.stringify(bootstrap));
  await start(name, { STORE_URL: redis.url, BOOTSTRAP_FILE, ...more });
}

async function start(name: AppName, environment: Record<string, string>): Promise<void> {
  const key = () => randomBytes(32).toString('hex');
  const operationsPort = await freePort();
  operationsUrl = `http://127.0.0.1:${operationsPort}`;
  app = await startApp(name, {
    DATA_DIR: directory,
    OPERATIONS_PORT: String(operationsPort),
    AUTHORIZATION_SERVER_PORT: String(await freePort()),
    GATEWAY_PORT: '0',
    DEVICE_SERVICE_PORT: '0',
    MASTER_KEY_FILE: file('master.key', key()),
    COOKIE_KEYS_FILE: file('cookie.keys', key()),
    ...environment,
  });
}

async function readiness() {
  const reply = await fetch(`${operationsUrl}/ready`, { headers: { Connection: 'close' } });
  return { status: reply.status, body: (await reply.json()) as { checks: Record<string, string> } };
}

async function metric(name: string) {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text();
  return parseMetrics(text).get(name)?.samples[0]?.value;
}

describe.each(['authorization-server', 'gateway'] as const)('the %s', (name) => {
  test('reports that Redis is missing, at the start and later, and recovers', async () => {
    await startWithoutRedis(name, { organizations: [{ id: 'org-1', name: 'One' }] });
    const early = await readiness();
    expect([early.status, early.body.checks.store]).toEqual([503, 'unavailable']);
    // Dependencies that use the store are also missing.
    expect(new Set(Object.values(early.body.checks))).toEqual(new Set(['unavailable']));
    await redis.restart();
    await until(async () => (await readiness()).status === 200);
    expect(await metric('gatehouse_store_up')).toBe(1);

    await redis.kill();
    const later = await readiness();
    const missing = Object.entries(later.body.checks).filter(([, state]) => state !== 'ok');
    expect([later.status, missing]).toEqual([503, [['store', 'unavailable']]]);
    expect(await metric('gatehouse_store_up')).toBe(0);
    expect((await fetch(`${operationsUrl}/live`)).status).toBe(200);
    await redis.restart();
    await until(async () => (await readiness()).status === 200);
  });

  test('exits with 1 if the store returns and contains the demo', async () => {
    const secureKey = randomBytes(18).toString('base64url');
    const organizations = [{ id: 'demo', name: 'Demo' }];
    const clients = [{ clientId: 'demo', secureKey, name: 'Demo', orgId: 'demo' }];
    await startWithoutRedis(
      name,
      { organizations, clients },
      {
        AUTHORIZATION_SERVER_URL: 'https://auth.example',
        GATEWAY_URL: 'https://gateway.example',
      },
    );
    await redis.restart();
    await until(() => app?.output().includes('"level":"fatal"'));
    expect(app?.output()).toContain('names a store with the demo client');
    expect(await app?.stop()).toBe(1);
  });

  test('reports a damaged SQLite store as missing', async () => {
    const path = join(directory, `${name}.sqlite`);
    await start(name, { STORE_URL: `sqlite:${path}` });
    await until(async () => (await readiness()).status === 200);
    for (const each of [path, `${path}-wal`, `${path}-shm`]) {
      writeFileSync(each, Buffer.alloc(64 * 1024, 'no database '), { flag: 'r+' });
    }
    const { status, body } = await readiness();
    expect([status, body.checks.store]).toEqual([503, 'unavailable']);
    await until(async () => (await metric('gatehouse_store_up')) === 0);
  });
});
