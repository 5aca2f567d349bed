// requires: postgresql

import { type PostgresServer, startPostgresServer } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDatabase } from '../src/database/open-database.ts';
import { type BootedApp, bootApp } from './booted-app.ts';
import { camera, createDeviceClient, type DeviceClient } from './device-client.ts';

let postgres: PostgresServer;
let app: BootedApp;
let client: DeviceClient;

beforeAll(async () => {
  postgres = await startPostgresServer();
  app = await bootApp({ engine: 'postgres', url: postgres.url });
  client = createDeviceClient(app);
});

afterAll(async () => {
  await app.close();
  await postgres.stop();
});

describe('an outage of PostgreSQL', () => {
  test('by kill -9 during creates loses no acknowledged device', async () => {
    const acknowledged: string[] = [];
    const refusals = new Set<number>();
    let killed = false;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let i = 0; !killed; i += 1) {
        const id = `w${writer}-${i}`;
        const reply = await client.create({ id, ...camera });
        if (reply.status === 200) {
          acknowledged.push(id);
        } else {
          refusals.add(reply.status);
        }
      }
    });
    while (acknowledged.length < 200) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await postgres.kill();
    const refused = await client.create({ id: 'while-away', ...camera });
    killed = true;
    await Promise.all(writers);

    expect(refused.status).toBe(503);
    expect(refused.body.code).toBe('service_unavailable');
    expect(refused.headers['retry-after']).toBe('1');
    expect((await client.detail('w0-0')).status).toBe(503);
    expect([...refusals].filter((status) => status !== 503)).toEqual([]);

    await postgres.restart();
    expect((await client.create({ id: 'back', ...camera })).status).toBe(200);
    for (const id of acknowledged) {
      expect((await client.detail(id)).status).toBe(200);
    }
  });

  test('without an error gives 503 within the time limit', async () => {
    await client.detail('back');
    postgres.freeze();
    const startedAt = performance.now();
    const reply = await client.detail('back');
    const seconds = (performance.now() - startedAt) / 1000;
    postgres.thaw();

    expect(reply.status).toBe(503);
    expect(seconds).toBeLessThan(9);
    expect((await client.detail('back')).status).toBe(200);
  });

  test('before the start of the service only delays the start', async () => {
    await postgres.kill();
    const opening = openDatabase({ engine: 'postgres', url: postgres.url });
    await new Promise((resolve) => setTimeout(resolve, 500));
    await postgres.restart();

    const database = await opening;
    await database.ping();
    await database.close();
  });
});
