// requires: redis-server
// runs alone: it has deadlines of seconds under load
/** `/ready` names missing dependencies with every engine, and the metrics agree. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

let directory: string;
let app: AppProcess | undefined;
let operationsUrl: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gatehouse-health-'));
});
afterEach(async () => {
  await app?.stop();
  rmSync(directory, { recursive: true });
});

async function start(name: AppName, environment: Record<string, string>): Promise<void> {
  const key = (file: string) => {
    writeFileSync(join(directory, file), randomBytes(32).toString('hex'), { mode: 0o600 });
    return join(directory, file);
  };
  const operationsPort = await freePort();
  operationsUrl = `http://127.0.0.1:${operationsPort}`;
  app = await startApp(name, {
    DATA_DIR: directory,
    OPERATIONS_PORT: String(operationsPort),
    AUTHORIZATION_SERVER_PORT: String(await freePort()),
    GATEWAY_PORT: '0',
    DEVICE_SERVICE_PORT: '0',
    MASTER_KEY_FILE: key('master.key'),
    COOKIE_KEYS_FILE: key('cookie.keys'),
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
    const redis: RedisServer = await startRedisServer();
    await redis.kill();
    const bootstrap = join(directory, 'bootstrap.json');
    writeFileSync(bootstrap, JSON.stringify({ organizations: [{ id: 'org-1', name: 'One' }] }), {
      mode: 0o600,
    });
    await start(name, { STORE_URL: redis.url, BOOTSTRAP_FILE: bootstrap });
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
    await redis.stop();
  });

  test('exits with 1 if the store returns and contains the demo', async () => {
    const redis = await startRedisServer();
    await redis.kill();
    const bootstrap = join(directory, 'bootstrap.json');
    const secureKey = randomBytes(18).toString('base64url');
    writeFileSync(
      bootstrap,
      JSON.stringify({
        organizations: [{ id: 'demo', name: 'Demo' }],
        clients: [{ clientId: 'demo', secureKey, name: 'Demo', orgId: 'demo' }],
      }),
      { mode: 0o600 },
    );
    await start(name, {
      STORE_URL: redis.url,
      BOOTSTRAP_FILE: bootstrap,
      AUTHORIZATION_SERVER_URL: 'https://auth.example',
      GATEWAY_URL: 'https://gateway.example',
    });
    await redis.restart();
    const deadline = performance.now() + 15_000;
    while (!app?.output().includes('"level":"fatal"')) {
      expect(performance.now()).toBeLessThan(deadline);
      await sleep(50);
    }
    expect(app.output()).toContain('names a store with the demo client');
    expect(await app.stop()).toBe(1);
    await redis.stop();
  });

  test('reports a damaged SQLite store as missing', async () => {
    const path = join(directory, 'store.sqlite');
    await start(name, { STORE_URL: `sqlite:${path}` });
    await until(async () => (await readiness()).status === 200);
    for (const file of [path, `${path}-wal`, `${path}-shm`]) {
      writeFileSync(file, Buffer.alloc(64 * 1024, 'no database '), { flag: 'r+' });
    }
    const { status, body } = await readiness();
    expect([status, body.checks.store]).toEqual([503, 'unavailable']);
    while ((await metric('gatehouse_store_up')) !== 0) {
      await sleep(20);
    }
  });
});
