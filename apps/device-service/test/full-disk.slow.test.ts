// requires: postgresql
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseMetrics, startPostgresServer } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createDeviceClient, type DeviceClient } from './device-client.ts';
import { type GatewayDouble, startGatewayDouble } from './gateway-double.ts';
import { readAll } from './kill-rounds.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

const ORGANIZATION = 'org-disk';
const KIBIBYTE = 1024;

let gateway: GatewayDouble;
let directory: string;
let environment: Record<string, string>;
let stops: (() => Promise<unknown>)[];

beforeEach(async () => {
  stops = [];
  gateway = await startGatewayDouble();
  directory = mkdtempSync(join(tmpdir(), 'device-disk-'));
  environment = {
    DATA_DIR: directory,
    GATEWAY_URL: gateway.issuer,
    GATEWAY_JWKS_URL: gateway.jwksUrl,
  };
});

afterEach(async () => {
  for (const stop of stops.reverse()) {
    await stop();
  }
  await gateway.stop();
  rmSync(directory, { recursive: true });
});

/** A device of about 100 KiB, so that a small disk is full soon. */
const largeDevice = (id: string) => ({
  id,
  name: id,
  productId: 'p',
  productName: 'P',
  configuration: Object.fromEntries(
    Array.from({ length: 25 }, (_, i) => [`key-${i}`, randomBytes(3000).toString('base64')]),
  ),
});

/** Creates devices until one is rejected. */
async function fillDisk(client: DeviceClient, limit: number) {
  const acknowledged: string[] = [];
  for (let i = 0; i < limit; i += 1) {
    const reply = await client.create(largeDevice(`d-${i}`), ORGANIZATION);
    if (reply.status !== 200) {
      return { acknowledged, refusal: reply };
    }
    acknowledged.push(`d-${i}`);
  }
  throw new Error('The disk is not full.');
}

async function readiness({ operationsUrl }: ServiceProcess) {
  const { checks } = (await (await fetch(`${operationsUrl}/ready`)).json()) as {
    checks: Record<string, string>;
  };
  const metrics = parseMetrics(await (await fetch(`${operationsUrl}/metrics`)).text());
  return {
    answers: checks.database,
    writes: checks['database-writes'],
    writable: metrics.get('gatehouse_database_writable')?.samples[0]?.value,
  };
}

async function expectFullAndRecovered(
  service: ServiceProcess,
  makeRoom: () => void,
): Promise<void> {
  const client = createDeviceClient({ url: service.url, gateway });
  const { acknowledged, refusal } = await fillDisk(client, 500);

  expect(refusal.status).toBe(503);
  expect(refusal.body.code).toBe('service_unavailable');
  expect(refusal.headers['retry-after']).toBe('1');
  expect(JSON.stringify(refusal.body)).not.toMatch(/disk|full|space|tablespace/i);
  const during = await readAll(client, ORGANIZATION);
  expect([...during.ids].sort()).toEqual([...acknowledged].sort());
  const full = { answers: 'ok', writes: 'unavailable', writable: 0 };
  expect(await readiness(service)).toEqual(full);

  makeRoom();
  expect((await client.create(largeDevice('after'), ORGANIZATION)).status).toBe(200);
  expect(await readiness(service)).toEqual({ answers: 'ok', writes: 'ok', writable: 1 });
  const after = await readAll(client, ORGANIZATION);
  expect([...after.ids].sort()).toEqual([...acknowledged, 'after'].sort());
  expect(after.total).toBe(acknowledged.length + 1);
}

describe('a full disk', () => {
  test('under SQLite gives 503 for writes, serves reads, and accepts writes when there is space', async () => {
    const service = await startServiceProcess(environment, {
      smallDisk: { folder: directory, megabytes: 16 },
    });
    stops.push(() => service.end('SIGTERM'));
    const filler = `/proc/${service.pid}/root${directory}/filler`;
    writeFileSync(filler, Buffer.alloc(8 * 1024 * KIBIBYTE));

    await expectFullAndRecovered(service, () => rmSync(filler));
  });

  test('under PostgreSQL gives 503 for writes, serves reads, and accepts writes when there is space', async () => {
    const postgres = await startPostgresServer({ smallDiskMegabytes: 24 });
    stops.push(postgres.stop);
    await postgres.sql(`create tablespace small location '${postgres.smallDisk.path}'`);
    await postgres.sql('alter database gatehouse set default_tablespace = small');
    const service = await startServiceProcess({ ...environment, DATABASE_URL: postgres.url });
    stops.push(() => service.end('SIGTERM'));
    const filler = `${postgres.smallDisk.outsidePath()}/filler`;
    writeFileSync(filler, Buffer.alloc(16 * 1024 * KIBIBYTE));

    await expectFullAndRecovered(service, () => rmSync(filler));
  });
});
