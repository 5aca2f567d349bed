import { chmodSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { camera, createDeviceClient } from './device-client.ts';
import { type GatewayDouble, startGatewayDouble } from './gateway-double.ts';
import { runUntilExit, type ServiceProcess, startServiceProcess } from './service-process.ts';

let gateway: GatewayDouble;
let directory: string;
let environment: Record<string, string>;

beforeEach(async () => {
  gateway = await startGatewayDouble();
  directory = mkdtempSync(join(tmpdir(), 'device-process-'));
  environment = {
    DATA_DIR: directory,
    GATEWAY_URL: gateway.issuer,
    GATEWAY_JWKS_URL: gateway.jwksUrl,
  };
});

afterEach(async () => {
  await gateway.goAway();
  rmSync(directory, { recursive: true });
});

const clientOf = (service: ServiceProcess) => createDeviceClient({ url: service.url, gateway });

describe('a started device service', () => {
  test('says live and ready, answers, and ends cleanly when told to', async () => {
    const service = await startServiceProcess(environment);

    expect((await fetch(`${service.operationsUrl}/live`)).status).toBe(200);
    const ready = await fetch(`${service.operationsUrl}/ready`);
    expect(await ready.json()).toEqual({
      status: 'ready',
      checks: { database: 'ok', 'database-writes': 'ok', 'gateway-keys': 'ok' },
    });
    expect((await clientOf(service).list('')).status).toBe(200);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  test('is ready without the gateway, which may start later, and says that it misses its keys', async () => {
    await gateway.goAway();
    const service = await startServiceProcess(environment);
    const ready = await fetch(`${service.operationsUrl}/ready`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      {
        status: 'ready',
        checks: { database: 'ok', 'database-writes': 'ok', 'gateway-keys': 'unavailable' },
      },
    ]);
    await service.end('SIGTERM');
  });

  test('has one demo device when embedded and new, and never makes it again', async () => {
    const first = await startServiceProcess(environment);
    const demo = await clientOf(first).detail('demo-device-1', 'demo');
    expect(demo.body.result).toMatchObject({
      name: 'Demo device',
      productId: 'demo-product',
      productName: 'Demo product',
    });
    await first.end('SIGTERM');

    const second = await startServiceProcess(environment);
    expect((await clientOf(second).list('', 'demo')).body.result).toHaveLength(1);
    await second.end('SIGTERM');
    const database = new DatabaseSync(join(directory, 'devices.sqlite'));
    database.exec('delete from devices');
    database.close();

    const third = await startServiceProcess(environment);
    expect((await clientOf(third).list('', 'demo')).body.result).toEqual([]);
    await third.end('SIGTERM');
  });

  test('has a database that its owner alone can read, also after a backup was restored with another mode', async () => {
    const database = join(directory, 'devices.sqlite');
    const first = await startServiceProcess(environment);
    await first.end('SIGTERM');
    expect(statSync(database).mode & 0o777).toBe(0o600);

    chmodSync(database, 0o644);
    chmodSync(directory, 0o755);
    const second = await startServiceProcess(environment);
    expect([database, directory].map((path) => statSync(path).mode & 0o777)).toEqual([
      0o600, 0o700,
    ]);
    await second.end('SIGTERM');
    expect(second.output()).toContain(`other users had access to ${database} (mode 0644)`);
  });

  test.each([
    ['BOOTSTRAP_FILE', '/etc/gatehouse/bootstrap.json'],
    ['DATABASE_URL', 'sqlite:%/devices.sqlite'],
  ])('has no demo device where %s is set', async (name, value) => {
    const service = await startServiceProcess({
      ...environment,
      [name]: value.replace('%', directory),
    });

    expect((await clientOf(service).list('', 'demo')).body.result).toEqual([]);
    await service.end('SIGTERM');
  });

  test('SL-03 logs one line a request, by operation, without a token, id or value at any level', async () => {
    const service = await startServiceProcess({ ...environment, LOG_LEVEL: 'trace' });
    const client = clientOf(service);
    await client.create({ id: 'canary-id', ...camera, configuration: { key: 'canary-value' } });
    await client.detail('canary-id');
    await client.list('?pageSize=canary');
    const token = await gateway.token({ aud: 'other' });
    const headers = { authorization: `Bearer ${token}` };
    await fetch(`${service.url}/canary-path?access_token=canary`, { headers });
    await service.end('SIGTERM');

    const lines = service
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ requestId }) => requestId !== undefined);
    expect(lines).toMatchObject([
      { operation: 'device.create', status: 200, clientId: 'client-1' },
      { operation: 'device.detail', status: 200 },
      { operation: 'device.list', status: 400, code: 'illegal_argument' },
      { status: 401, code: 'unauthorized' },
    ]);
    expect(service.output()).not.toContain('canary');
    expect(service.output()).not.toContain('eyJ');
  });

  test('CF-07 that has a misspelt name in its environment is refused, and makes no database', async () => {
    const { code, stderr } = await runUntilExit({
      DATABASE_URL_FIL: '/canary/database-url',
      SECURTY_PROFILE: 'canary',
      LOG_LEVEL: 'loud',
      DATA_DIR: join(directory, 'never-made'),
    });

    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^ {2}DATABASE_URL_FIL: is no variable of Gatehouse, DATABASE_URL_FILE is/m,
    );
    expect(stderr).toMatch(
      /^ {2}SECURTY_PROFILE: is no variable of Gatehouse, SECURITY_PROFILE is/m,
    );
    expect(stderr).toMatch(/^ {2}LOG_LEVEL: /m);
    expect(stderr).not.toContain('canary');
    expect(existsSync(join(directory, 'never-made'))).toBe(false);
  });

  test('that is refused by its configuration names every problem, one a line, and no value', async () => {
    const { code, stderr } = await runUntilExit({
      DEVICE_SERVICE_PORT: 'http',
      DATABASE_URL: 'postgres://user:canary@db',
      LOG_LEVEL: 'loud',
      DATA_DIR: join(directory, 'never-made'),
    });

    expect(code).toBe(1);
    expect(stderr).toMatch(/^ {2}DEVICE_SERVICE_PORT: /m);
    expect(stderr).toMatch(/^ {2}DATABASE_URL: must be postgres:/m);
    expect(stderr).toMatch(/^ {2}LOG_LEVEL: /m);
    expect(stderr).not.toContain('canary');
    expect(existsSync(join(directory, 'never-made'))).toBe(false);
  });
});

describe('a device service that is told to end', () => {
  test('DL-06 during creates finishes or refuses, and keeps what it acknowledged', async () => {
    const service = await startServiceProcess(environment);
    const client = clientOf(service);
    const creates = Array.from({ length: 50 }, async (_, i) => {
      const reply = await client.create({ id: `d-${i}`, ...camera }).catch(() => undefined);
      return reply?.status === 200 ? [`d-${i}`] : [];
    });
    await creates[0];
    expect(await service.end('SIGTERM')).toBe(0);
    const acknowledged = (await Promise.all(creates)).flat();

    const again = await startServiceProcess(environment);
    const { result } = (await clientOf(again).list('?pageSize=1000')).body;
    await again.end('SIGTERM');
    const present = new Set(result.map(({ id }) => id));
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(acknowledged.filter((id) => !present.has(id))).toEqual([]);
  });
});
