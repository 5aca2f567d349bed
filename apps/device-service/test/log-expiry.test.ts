// requires: postgresql
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { expireLogStep, startLogExpiry } from '../src/logs/expiry.ts';
import { type BootedApp, bootApp } from './booted-app.ts';
import {
  type DatabaseEngineForTest,
  databaseEngines,
  startDatabaseEngine,
} from './database-engines.ts';
import { camera, createDeviceClient, type DeviceClient } from './device-client.ts';

const DAY = 24 * 60 * 60 * 1000;

describe.each(databaseEngines)('log records on %s', (name) => {
  let engine: DatabaseEngineForTest;
  let app: BootedApp;
  let client: DeviceClient;
  let clock = Date.now();

  beforeAll(async () => {
    engine = await startDatabaseEngine(name);
    app = await bootApp(engine.location, () => clock);
    client = createDeviceClient(app);
    for (const org of ['org-1', 'org-2']) {
      await client.create({ id: 'd', ...camera }, org);
    }
  });

  afterAll(async () => {
    await app.close();
    await engine.stop();
  });

  const report = (org: string, count: number) =>
    client.report(
      'd',
      Array.from({ length: count }, () => ({ type: 'event' })),
      org,
    );
  const left = async (org: string) =>
    Number((await client.log('d', '', org)).headers['x-total-count']);
  const expire = (storedBefore: number, limit: number) =>
    expireLogStep(app.database, storedBefore, limit);

  test('expire by the time of storage, in steps, not by the time that the device reported', async () => {
    const start = clock;
    await report('org-1', 30);
    await report('org-2', 10);
    clock = start + DAY;
    await client.report(
      'd',
      [{ type: 'event', timestamp: start - 20 * DAY, content: 'late' }],
      'org-1',
    );

    expect(await expire(start, 25)).toBe(0);
    expect(await expire(start + 1, 25)).toBe(25);
    expect(await expire(start + 1, 25)).toBe(15);
    expect(await left('org-1')).toBe(1);
    expect(await left('org-2')).toBe(0);
  });

  test('are found by an index, so that a step reads only what it deletes', async () => {
    const { tables } = app.database;
    const query = sql`select 1 from device_logs where create_time < ${1}
      order by create_time limit 500`;
    const plan =
      name === 'sqlite'
        ? await sql`explain query plan ${query}`.execute(tables)
        : await sql`explain (costs off) ${query}`.execute(tables);
    // PostgreSQL scans a table of one page. The benchmark checks the plan with two million records.
    expect(JSON.stringify(plan.rows)).toMatch(
      name === 'sqlite' ? /USING (COVERING )?INDEX device_logs_oldest_first/ : /Limit/,
    );
  });

  test('are deleted in the background until no expired record is left', async () => {
    await report('org-1', 1000);
    await report('org-2', 700);
    const failures: unknown[] = [];
    const expiry = startLogExpiry({
      database: app.database,
      retentionDays: 3,
      now: () => clock + 3 * DAY + 1,
      onFailure: (error) => failures.push(error),
    });
    for (let i = 0; i < 100 && (await left('org-1')) + (await left('org-2')) > 0; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await expiry.close();

    expect(failures).toEqual([]);
    expect((await left('org-1')) + (await left('org-2'))).toBe(0);
  });
});
