// requires: postgresql
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type DatabaseEngineForTest,
  databaseEngines,
  startDatabaseEngine,
} from './database-engines.ts';
import { camera, createDeviceClient } from './device-client.ts';
import { type GatewayDouble, startGatewayDouble } from './gateway-double.ts';
import { startServiceProcess } from './service-process.ts';

describe.each(databaseEngines)('a device service on %s', (name) => {
  let engine: DatabaseEngineForTest;
  let gateway: GatewayDouble;
  let directory: string;
  let environment: Record<string, string>;

  beforeAll(async () => {
    engine = await startDatabaseEngine(name);
    gateway = await startGatewayDouble();
    directory = mkdtempSync(join(tmpdir(), 'device-kill-'));
    environment = {
      DATA_DIR: directory,
      DATABASE_URL: engine.url,
      GATEWAY_URL: gateway.issuer,
      GATEWAY_JWKS_URL: gateway.jwksUrl,
    };
  });

  afterAll(async () => {
    await gateway.stop();
    await engine.stop();
    rmSync(directory, { recursive: true });
  });

  // kill.slow.test.ts kills the service 50 times during 10,000 creates.
  test('has all or none of a batch after a kill during the batch', async () => {
    const batch = Array.from({ length: 5000 }, (_, i) => ({ id: `b${i}`, ...camera }));
    for (const [round, delay] of [30, 150].entries()) {
      const organization = `org-batch-${round}`;
      const service = await startServiceProcess(environment);
      const client = createDeviceClient({ url: service.url, gateway });
      const reply = client.createAll(batch, organization).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, delay));
      await service.end('SIGKILL');
      const acknowledged = (await reply)?.status === 200;

      const again = await startServiceProcess(environment);
      const count = await createDeviceClient({ url: again.url, gateway }).call<number>(
        'GET',
        '/device/instance/_count',
        undefined,
        { org: organization },
      );
      await again.end('SIGTERM');
      expect(acknowledged ? [5000] : [0, 5000]).toContain(count.body.result);
    }
  });

  test('shares a new database with processes that start at the same time', async () => {
    const location = await engine.createDatabase('shared');
    const url = location.engine === 'sqlite' ? `sqlite:${location.path}` : location.url;
    const services = await Promise.all(
      Array.from({ length: 4 }, () => startServiceProcess({ ...environment, DATABASE_URL: url })),
    );
    const clients = services.map((service) => createDeviceClient({ url: service.url, gateway }));

    const replies = await Promise.all(
      clients.flatMap((client) =>
        Array.from({ length: 13 }, () => client.create({ id: 'contended', ...camera })),
      ),
    );

    // DL-03 over four processes. SQLite may answer 503 to a process that waits too long.
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => ![200, 400, 503].includes(status))).toEqual([]);
    for (const client of clients) {
      expect((await client.list('')).headers['x-total-count']).toBe('1');
    }
    for (const service of services) {
      expect(await service.end('SIGTERM')).toBe(0);
    }
  });
});
