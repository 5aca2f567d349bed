import { copyFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { DatabaseUnavailableError } from '../src/database/database-errors.ts';
import { openDatabase } from '../src/database/open-database.ts';
import { scopeToOrganization } from '../src/database/organization-database.ts';
import { addDevice } from '../src/devices/add.ts';
import { countDevices } from '../src/devices/pages.ts';
import { findDevice } from '../src/devices/rows.ts';
import { changeEachDevice, deployEach } from '../src/devices/rules.ts';
import { type BootedApp, bootApp } from './booted-app.ts';
import { camera, createDeviceClient, type DeviceClient } from './device-client.ts';
import { newDevice } from './new-device.ts';

describe('a database that rejects writes', () => {
  let app: BootedApp;
  let client: DeviceClient;

  beforeEach(async () => {
    app = await bootApp();
    client = createDeviceClient(app);
    await client.create({ id: 'before', ...camera });
  });

  afterEach(() => app.close());

  test('gives 503 for creates while another process holds the lock, and reads work', async () => {
    const other = new DatabaseSync(app.databasePath);
    other.exec('begin immediate');

    const refused = await client.create({ id: 'during', ...camera });
    const read = await client.detail('before');
    other.exec('rollback');
    other.close();

    expect(refused.body.code).toBe('service_unavailable');
    expect(refused.headers['retry-after']).toBe('1');
    expect(read.status).toBe(200);
    expect((await client.detail('during')).status).toBe(404);
    expect((await client.create({ id: 'during', ...camera })).status).toBe(200);
  });

  test('gives 503 while it is full, and accepts writes when there is space', async () => {
    const configuration = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [`key-${i}`, 'x'.repeat(4000)]),
    );
    await sql`pragma max_page_count = 50`.execute(app.database.tables);

    const refused = await client.create({ id: 'large', ...camera, configuration });
    expect(refused.status).toBe(503);
    expect((await client.detail('before')).status).toBe(200);
    expect((await client.detail('large')).status).toBe(404);

    await sql`pragma max_page_count = 100000`.execute(app.database.tables);
    expect((await client.create({ id: 'large', ...camera, configuration })).status).toBe(200);
    expect((await client.detail('large')).body.result.configuration).toEqual(configuration);
  });
});

test('a batch that the database interrupts changes no device', async () => {
  const app = await bootApp();
  const client = createDeviceClient(app);
  const ours = scopeToOrganization(app.database, 'org-1');
  await client.create({ id: 'a', ...camera });
  const deploying = changeEachDevice(ours, ['a', 'b'], {
    ...deployEach,
    async change(transaction, ids) {
      await deployEach.change(transaction, ids);
      throw new DatabaseUnavailableError(new Error('gone'));
    },
  });

  await expect(deploying).rejects.toThrow(DatabaseUnavailableError);
  expect((await findDevice(ours, 'a'))?.state).toBe('notActive');
  await app.close();
});

describe('opening a database', () => {
  let directory: string;
  let path: string;

  beforeEach(() => {
    directory = temporaryFolder();
    path = join(directory, 'nested', 'devices.sqlite');
  });

  test('keeps the data of an existing one, and does not migrate again', async () => {
    let created = 0;
    for (const id of ['first', 'second']) {
      const database = await openDatabase({ engine: 'sqlite', path }, async () => {
        created += 1;
      });
      await addDevice(scopeToOrganization(database, 'org-1'), newDevice(id));
      await database.close();
    }
    const database = await openDatabase({ engine: 'sqlite', path });
    const total = await countDevices(scopeToOrganization(database, 'org-1'), undefined);
    await database.close();

    expect(total).toBe(2);
    expect(created).toBe(1);
  });

  test('uses a write-ahead log and synchronizes every commit', async () => {
    const { tables, close } = await openDatabase({ engine: 'sqlite', path });
    for (const [name, value] of [
      ['journal_mode', 'wal'],
      ['synchronous', 2],
      ['foreign_keys', 1],
    ] as const) {
      const { rows } = await sql`pragma ${sql.raw(name)}`.execute(tables);
      expect(rows).toEqual([{ [name]: value }]);
    }
    await close();
  });

  test('recovers everything before an incomplete last record', async () => {
    const database = await openDatabase({ engine: 'sqlite', path });
    const ours = scopeToOrganization(database, 'org-1');
    for (const id of ['a', 'b', 'c']) {
      await addDevice(ours, newDevice(id));
    }
    const torn = join(directory, 'torn.sqlite');
    copyFileSync(path, torn);
    copyFileSync(`${path}-wal`, `${torn}-wal`);
    truncateSync(`${torn}-wal`, statSync(`${torn}-wal`).size - 100);
    await database.close();

    const recovered = await openDatabase({ engine: 'sqlite', path: torn });
    const survivors = scopeToOrganization(recovered, 'org-1');
    expect((await findDevice(survivors, 'a'))?.id).toBeDefined();
    expect((await findDevice(survivors, 'b'))?.id).toBeDefined();
    expect(await findDevice(survivors, 'c')).toBeUndefined();
    await recovered.close();
  });

  test('rejects a file that is not a database', async () => {
    const file = join(directory, 'not-a-database');
    writeFileSync(file, 'this is not a database '.repeat(1000));

    await expect(openDatabase({ engine: 'sqlite', path: file })).rejects.toThrow(
      DatabaseUnavailableError,
    );
  });
});
