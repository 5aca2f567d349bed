// requires: postgresql
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from '@jest/globals';
import { Kysely, sql } from 'kysely';
import type { DatabaseLocation } from '../src/database/database-url.ts';
import { migrateDatabase } from '../src/database/migrate.ts';
import { openDatabase } from '../src/database/open-database.ts';
import { scopeToOrganization } from '../src/database/organization-database.ts';
import { createPostgresDialect } from '../src/database/postgres.ts';
import { PostgresDriver } from '../src/database/postgres-driver.ts';
import { createSqliteDialect, SqliteDriver } from '../src/database/sqlite-driver.ts';
import type { Tables } from '../src/database/tables.ts';
import { countDevices, deviceSubject, readDevices } from '../src/devices/pages.ts';
import { findDevice, removeDevices, undeploy } from '../src/devices/rows.ts';
import { parseQuery } from '../src/query/query.ts';
import { startEngines } from './device-suite.ts';

const FIRST_VERSION = '0001-products-and-devices';
const noHook = async () => undefined;

function connect(location: DatabaseLocation): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect:
      location.engine === 'sqlite'
        ? createSqliteDialect(new SqliteDriver(new DatabaseSync(location.path)))
        : createPostgresDialect(
            new PostgresDriver({
              location,
              connections: 2,
              statementTimeoutSeconds: undefined,
            }),
          ),
  });
}

describe.each(await startEngines())('migrations on $name', ({ name, engine }) => {
  test('an open database reports its engine, version and clock', async () => {
    const database = await openDatabase(engine.location);
    const about = await database.about();
    await database.close();
    const version = expect.stringMatching(/^\d+\.\d+/);
    expect(about).toMatchObject({ engine: name, version, time: expect.any(Number) });
    if (name === 'postgres') {
      expect(about).toMatchObject({
        postgres: {
          fsync: 'on',
          fullPageWrites: 'on',
          synchronousCommit: 'on',
          connection: 'local',
          connections: { limit: 97, open: expect.any(Number), pool: 10 },
        },
      });
    }
  });

  test('migrate an empty database once, although several connections open it at the same time', async () => {
    const location = await engine.createDatabase('empty');
    let created = 0;
    const databases = await Promise.all(
      // SQLite cannot wait within one process. process.slow.test.ts starts several processes.
      Array.from({ length: name === 'postgres' ? 4 : 1 }, () =>
        openDatabase(location, async () => {
          created += 1;
        }),
      ),
    );

    expect(created).toBe(1);
    const applied = await databases[0]?.tables
      .selectFrom(sql<{ name: string }>`kysely_migration`.as('migrations'))
      .select('name')
      .orderBy('name')
      .execute();
    const names = [FIRST_VERSION, '0002-tags-and-logs', '0003-device-counts'];
    expect(applied?.map((migration) => migration.name)).toEqual(names);
    await Promise.all(databases.map((database) => database.close()));
  });

  test('migrate the previous version: every device remains and is counted', async () => {
    const location = await engine.createDatabase('previous');
    const old = connect(location);
    await migrateDatabase(old, location.engine, noHook, FIRST_VERSION);
    await sql`insert into products (org_id, id, name, protocol, transport, metadata, create_time)
      values ('org-1', 'p', 'P', 'mqtt', 'TCP', '{}', 1), ('org-2', 'p', 'P2', '', '', '{}', 1)`.execute(
      old,
    );
    for (const [org, id, state] of [
      ['org-1', 'a', 'online'],
      ['org-1', 'b', 'notActive'],
      ['org-1', 'B', 'notActive'],
      ['org-2', 'a', 'offline'],
    ]) {
      await sql`insert into devices (org_id, id, product_id, name, device_type, state, address,
          online_time, offline_time, create_time, register_time, configuration)
        values (${org}, ${id}, 'p', 'N', 'device', ${state}, '/', 5, 0, 7, 7, '{"k":"v"}')`.execute(
        old,
      );
    }
    await old.destroy();

    const database = await openDatabase(location);
    const ours = scopeToOrganization(database, 'org-1');
    expect(await findDevice(ours, 'a')).toMatchObject({
      product_name: 'P',
      protocol: 'mqtt',
      transport: 'TCP',
      device_type: 'device',
      state: 'online',
      online_time: 5,
      create_time: 7,
      metadata: '{}',
      configuration: '{"k":"v"}',
      tags: '[]',
    });
    const page = await readDevices(
      ours,
      parseQuery({ orderBy: 'id', pageSize: 2 }, deviceSubject),
      'en',
    );
    expect(page.total).toBe(3);
    expect(page.rows.map((device) => JSON.parse(device).id)).toEqual(['B', 'a']);
    const { condition } = parseQuery({ where: 'state=notActive' }, deviceSubject);
    expect(await countDevices(ours, condition)).toBe(2);
    await removeDevices(ours, ['b']);
    await undeploy(ours, 'a');
    expect(await countDevices(ours, condition)).toBe(2);
    await database.close();
  });

  test('do not change a database of a later version', async () => {
    const location = await engine.createDatabase('later');
    const database = await openDatabase(location);
    await sql`insert into kysely_migration (name, timestamp)
      values ('9999-from-the-future', '2999-01-01T00:00:00.000Z')`.execute(database.tables);
    await database.close();

    await expect(openDatabase(location)).rejects.toThrow(
      'Cannot migrate the tables to this version.',
    );
  });

  test('change nothing if they fail', async () => {
    const location = await engine.createDatabase('failing');
    const failing = openDatabase(location, async () => {
      throw new Error('no demo');
    });
    await expect(failing).rejects.toThrow('no demo');

    let isNew = false;
    const database = await openDatabase(location, async () => {
      isNew = true;
    });
    await database.close();
    expect(isNew).toBe(true);
  });
});
