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
  await gateway.stop();
  rmSync(directory, { recursive: true });
});

const clientOf = (service: ServiceProcess) => createDeviceClient({ url: service.url, gateway });

describe('a device service', () => {
  test('is live and ready, answers, and stops with 0', async () => {
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

  test('is ready without the gateway, and reports that its keys are missing', async () => {
    await gateway.stop();
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

  test('creates one demo device in a new embedded database, and never again', async () => {
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

  test('keeps its database readable for the owner only, also after a restore with another mode', async () => {
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
  ])('creates no demo device if %s is set', async (name, value) => {
    const service = await startServiceProcess({
      ...environment,
      [name]: value.replace('%', directory),
    });

    expect((await clientOf(service).list('', 'demo')).body.result).toEqual([]);
    await service.end('SIGTERM');
  });

  test('logs one line per request with its operation, without tokens, ids or values', async () => {
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

  test('does not start or create a database with a misspelled variable', async () => {
    const { code, stderr } = await runUntilExit({
      DATABASE_URL_FIL: '/canary/database-url',
      SECURTY_PROFILE: 'canary',
      LOG_LEVEL: 'loud',
      DATA_DIR: join(directory, 'never-made'),
    });

    expect(code).toBe(1);
    expect(stderr).toMatch(/^ {2}DATABASE_URL_FIL: looks like a misspelling of DATABASE_URL_FILE/m);
    expect(stderr).toMatch(/^ {2}SECURTY_PROFILE: looks like a misspelling of SECURITY_PROFILE/m);
    expect(stderr).toMatch(/^ {2}LOG_LEVEL: /m);
    expect(stderr).not.toContain('canary');
    expect(existsSync(join(directory, 'never-made'))).toBe(false);
  });

  test('reports every problem of its configuration, one per line, without values', async () => {
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

describe('a device service that receives SIGTERM', () => {
  test('during creates completes or rejects each, and keeps the acknowledged ones', async () => {
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
