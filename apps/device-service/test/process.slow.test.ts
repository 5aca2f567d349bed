// requires: postgresql
import { randomBytes } from 'node:crypto';
import { chmodSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseMetrics, startPostgresServer } from '@gatehouse/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { camera, type DeviceClient } from './device-client.ts';
import { startEngines, startServiceSuite } from './device-suite.ts';
import { readAll, startWriteLoad } from './write-load.ts';

const { gateway, makeDirectory, start, stops } = await startServiceSuite();
let directory: string;
let environment: Record<string, string>;

beforeEach(() => {
  directory = makeDirectory();
  environment = { DATA_DIR: directory };
});

const ready = async (operationsUrl: string) => {
  const reply = await fetch(`${operationsUrl}/ready`);
  return (await reply.json()) as { status: string; checks: Record<string, string> };
};

describe('a device service', () => {
  test('is ready without the gateway, and reports that its keys are missing', async () => {
    await gateway.stop();
    stops.push(() => gateway.restart());
    const { operationsUrl } = await start(environment);
    expect(await ready(operationsUrl)).toEqual({
      status: 'ready',
      checks: { database: 'ok', 'database-writes': 'ok', 'gateway-keys': 'unavailable' },
    });
  });

  test('keeps its database readable for the owner only, also after a restore with another mode', async () => {
    const database = join(directory, 'devices.sqlite');
    const modes = () => [database, directory].map((path) => statSync(path).mode & 0o777);
    await (await start(environment)).end('SIGTERM');
    expect(modes()[0]).toBe(0o600);
    chmodSync(database, 0o644);
    chmodSync(directory, 0o755);
    const second = await start(environment);
    expect(modes()).toEqual([0o600, 0o700]);
    await second.end('SIGTERM');
    expect(second.output()).toContain(`other users had access to ${database} (mode 0644)`);
  });
});

describe.each(await startEngines())('a device service on $name', ({ engine }) => {
  beforeEach(() => {
    environment = { DATA_DIR: directory, DATABASE_URL: engine.url };
  });

  test('that receives SIGTERM completes or rejects each create, and keeps the acknowledged ones', async () => {
    const service = await start(environment);
    const load = startWriteLoad(service.client, 'term-');
    await load.untilMore(20);
    expect(await service.end('SIGTERM')).toBe(0);
    await load.stop();
    const { ids } = await readAll((await start(environment)).client);
    expect(load.acknowledged.filter((id) => !ids.has(id))).toEqual([]);
  });

  test('killed 50 times during 10,000 creates keeps every acknowledged device', async () => {
    const acknowledged: string[] = [];
    for (let round = 0; round < 50; round += 1) {
      const service = await start(environment);
      const load = startWriteLoad(service.client, `r${round}-`);
      await load.untilMore(200);
      await service.end('SIGKILL');
      await load.stop();
      acknowledged.push(...load.acknowledged);
    }
    const { ids, total } = await readAll((await start(environment)).client);
    expect(acknowledged.length).toBeGreaterThanOrEqual(10_000);
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    expect(total).toBe(ids.size);
  }, 600_000);

  test.each([30, 150])(
    'killed %d ms after the start of a batch has all or none of it',
    async (delay) => {
      const org = `org-batch-${delay}`;
      const batch = Array.from({ length: 5000 }, (_, i) => ({ id: `b${i}`, ...camera }));
      const service = await start(environment);
      const reply = service.client.createAll(batch, org).catch(() => undefined);
      await sleep(delay);
      await service.end('SIGKILL');
      const wasAcknowledged = (await reply)?.status === 200;

      const again = await start(environment);
      const count = await again.client.call('GET', '/device/instance/_count', undefined, { org });
      expect(wasAcknowledged ? [5000] : [0, 5000]).toContain(count.result);
    },
  );

  test('shares a new database with processes that start at the same time', async () => {
    const location = await engine.createDatabase('shared');
    const url = location.engine === 'sqlite' ? `sqlite:${location.path}` : location.urls.join();
    const services = await Promise.all(
      Array.from({ length: 4 }, () => start({ ...environment, DATABASE_URL: url })),
    );
    const replies = await Promise.all(
      services.flatMap(({ client }) =>
        Array.from({ length: 13 }, () => client.create({ id: 'contended', ...camera })),
      ),
    );
    // One of 52 concurrent creates succeeds. SQLite may answer 503 to a process that waits too long.
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => ![200, 400, 503].includes(status))).toEqual([]);
    for (const { client, end } of services) {
      expect((await client.list('')).headers['x-total-count']).toBe('1');
      expect(await end('SIGTERM')).toBe(0);
    }
  });
});

describe('a full disk', () => {
  const MEBIBYTE = 1024 * 1024;
  /** A device of about 100 KiB, so that a small disk is full soon. */
  const largeDevice = (id: string) => ({
    ...{ id, ...camera },
    configuration: Object.fromEntries(
      Array.from({ length: 25 }, (_, i) => [`key-${i}`, randomBytes(3000).toString('base64')]),
    ),
  });

  /** Creates devices until one is rejected. */
  async function fillDisk(client: DeviceClient) {
    const acknowledged: string[] = [];
    for (let i = 0; i < 500; i += 1) {
      const reply = await client.create(largeDevice(`d-${i}`));
      if (reply.status !== 200) {
        return { acknowledged, refusal: reply };
      }
      acknowledged.push(`d-${i}`);
    }
    throw new Error('The disk is not full.');
  }

  async function stateOf({ operationsUrl }: { readonly operationsUrl: string }) {
    const { checks } = await ready(operationsUrl);
    const metrics = parseMetrics(await (await fetch(`${operationsUrl}/metrics`)).text());
    const writable = metrics.get('gatehouse_database_writable')?.samples[0]?.value;
    return [checks.database, checks['database-writes'], writable];
  }

  async function startOnSqlite() {
    const service = await start(environment, { smallDisk: { folder: directory, megabytes: 16 } });
    const filler = `/proc/${service.pid}/root${directory}/filler`;
    writeFileSync(filler, Buffer.alloc(8 * MEBIBYTE));
    return { service, filler };
  }

  async function startOnPostgres() {
    const postgres = await startPostgresServer({ smallDiskMegabytes: 24 });
    stops.push(postgres.stop);
    await postgres.sql(`create tablespace small location '${postgres.smallDisk.path}'`);
    await postgres.sql('alter database gatehouse set default_tablespace = small');
    const service = await start({ ...environment, DATABASE_URL: postgres.url });
    const filler = `${postgres.smallDisk.outsidePath()}/filler`;
    writeFileSync(filler, Buffer.alloc(16 * MEBIBYTE));
    return { service, filler };
  }

  test.each([
    ['SQLite', startOnSqlite],
    ['PostgreSQL', startOnPostgres],
  ])(
    'under %s gives 503 for writes, serves reads, and accepts writes when there is space',
    async (_engine, startFull) => {
      const { service, filler } = await startFull();
      const { client } = service;
      const { acknowledged, refusal } = await fillDisk(client);
      expect([refusal.body.code, refusal.headers['retry-after']]).toEqual([
        'service_unavailable',
        '1',
      ]);
      expect(JSON.stringify(refusal.body)).not.toMatch(/disk|full|space|tablespace/i);
      expect([...(await readAll(client)).ids].sort()).toEqual([...acknowledged].sort());
      expect(await stateOf(service)).toEqual(['ok', 'unavailable', 0]);

      rmSync(filler);
      expect((await client.create(largeDevice('after'))).status).toBe(200);
      expect(await stateOf(service)).toEqual(['ok', 'ok', 1]);
      expect([...(await readAll(client)).ids].sort()).toEqual([...acknowledged, 'after'].sort());
    },
  );
});
