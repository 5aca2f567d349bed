// requires: postgresql
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { DatabaseLocation } from '../src/database/database-url.ts';
import { openDatabase } from '../src/database/open-database.ts';
import { scopeToOrganization } from '../src/database/organization-database.ts';
import type { OpenDatabase } from '../src/database/tables.ts';
import { addDevice } from '../src/devices/add.ts';
import { countDevices, deviceSubject, readDevices } from '../src/devices/pages.ts';
import { type DeviceRow, findDevice, tagsOf } from '../src/devices/rows.ts';
import { appendToLog, logSubject, readLog } from '../src/logs/sql.ts';
import { parseQuery } from '../src/query/query.ts';
import { storeTags } from '../src/tags.ts';
import type { DatabaseEngineForTest } from './database-engines.ts';
import { startEngines } from './device-suite.ts';
import { newDevice } from './new-device.ts';

const engines = await startEngines();
let location: DatabaseLocation;
let database: OpenDatabase;
let databases = 0;

async function open(engine: DatabaseEngineForTest): Promise<void> {
  databases += 1;
  location = await engine.createDatabase(`db${databases}`);
  database = await openDatabase(location);
}
afterEach(() => database.close());

const event = (content: string) => ({
  type: 'event' as const,
  timestamp: 1,
  content,
  message_id: '',
  address: undefined,
});
const tag = (key: string, value: string) => ({
  tag_key: key,
  name: key,
  value,
  type: 'string',
  description: '',
});
const everyDevice = parseQuery({}, deviceSubject);
const everyRecord = parseQuery({}, logSubject);

/** Runs every prepared query, and returns what an organization stored. */
async function useDevices(database: OpenDatabase, organization: string, id: string) {
  const ours = scopeToOrganization(database, organization);
  await addDevice(ours, newDevice(id, { name: `${id} in ${organization}` }));
  await storeTags(ours, id, [tag('b', organization), tag('a', organization)], 1);
  await appendToLog(ours, id, [event(organization)], 1);
  const records = await readLog(ours, id, everyRecord);
  const found = await findDevice(ours, id);
  return {
    name: found?.name,
    tagged: tagsOf(found as DeviceRow).map(({ key, value }) => `${key}=${value}`),
    listed: (await readDevices(ours, everyDevice, 'en')).rows
      .map((device) => JSON.parse(device).name)
      .sort(),
    counted: await countDevices(ours, undefined),
    logged: records?.rows.map(({ content }) => content),
  };
}

describe.each(engines)('prepared queries on $name', ({ name, engine }) => {
  beforeEach(() => open(engine));

  test('read and write only the rows of the organization that runs them', async () => {
    for (const organization of ['ours', 'theirs', 'ours again']) {
      expect(await useDevices(database, organization, 'd')).toEqual({
        name: `d in ${organization}`,
        tagged: [`a=${organization}`, `b=${organization}`],
        listed: [`d in ${organization}`],
        counted: 1,
        logged: [organization],
      });
    }
  });

  test('give each caller the values of its own call', async () => {
    const ours = scopeToOrganization(database, 'ours');
    const ids = Array.from({ length: 30 }, (_, i) => `d-${i}`);
    await Promise.all(ids.map((id) => addDevice(ours, newDevice(id))));

    const found = await Promise.all(ids.map((id) => findDevice(ours, id)));
    expect(found.map((device) => device?.id)).toEqual(ids);
    expect(await countDevices(ours, undefined)).toBe(ids.length);
  });

  test('run after a change of the tables they have already read', async () => {
    const before = await useDevices(database, 'ours', 'd');
    for (const table of ['devices', 'device_logs', 'device_tags']) {
      const change = `alter table ${table} add column added text`;
      if (name === 'sqlite' && location.engine === 'sqlite') {
        const other = new DatabaseSync(location.path);
        other.exec(change);
        other.close();
      } else {
        await sql.raw(change).execute(database.tables);
      }
    }
    expect(before.logged).toEqual(['ours']);
    expect(await useDevices(database, 'ours', 'e')).toEqual({
      name: 'e in ours',
      tagged: ['a=ours', 'b=ours'],
      listed: ['d in ours', 'e in ours'],
      counted: 2,
      logged: ['ours'],
    });
  });
});

describe.each(engines.filter(({ name }) => name === 'postgres'))(
  'named statements of $name',
  ({ engine }) => {
    beforeEach(() => open(engine));

    const namesOn = async ({ tables }: OpenDatabase) =>
      (
        await sql<{
          name: string;
        }>`select name from pg_prepared_statements where name ~ '^[0-9a-f]{32}$'`.execute(tables)
      ).rows.map((row) => row.name);

    test('stay prepared on a connection', async () => {
      await useDevices(database, 'ours', 'd');
      const names = await namesOn(database);
      await useDevices(database, 'theirs', 'e');

      expect(names.length).toBeGreaterThan(5);
      expect(await namesOn(database)).toEqual(names);
    });

    test('are given up when a pooler gives reads a connection without them', async () => {
      const ours = scopeToOrganization(database, 'ours');
      await addDevice(ours, newDevice('d'));
      await sql`deallocate all`.execute(database.tables);

      expect((await findDevice(ours, 'd'))?.id).toBe('d');
      expect(await namesOn(database)).toEqual([]);
    });

    test('are given up when a pooler gives a transaction a connection without them', async () => {
      const ours = scopeToOrganization(database, 'ours');
      await addDevice(ours, newDevice('d'));
      await sql`deallocate all`.execute(database.tables);
      await addDevice(ours, newDevice('e'));

      expect(await countDevices(ours, undefined)).toBe(2);
      expect(await namesOn(database)).toEqual([]);
    });

    test('are given up when another client of a pooler prepared the same name', async () => {
      await useDevices(database, 'ours', 'd');
      const names = await namesOn(database);
      const other = await openDatabase(await engine.createDatabase('pooled'));
      for (const taken of names) {
        await sql`prepare ${sql.id(taken)} as select 'wrong'`.execute(other.tables);
      }
      const stored = await useDevices(other, 'ours', 'e');
      await other.close();

      expect(stored.name).toBe('e in ours');
      expect(stored.logged).toEqual(['ours']);
    });

    test('are prepared again after the server has restarted', async () => {
      const ours = scopeToOrganization(database, 'ours');
      await addDevice(ours, newDevice('d'));
      await engine.postgres?.kill();
      await engine.postgres?.restart();
      // The first query can still use a broken connection.
      await findDevice(ours, 'd').catch(() => undefined);

      expect((await findDevice(ours, 'd'))?.id).toBe('d');
      expect((await namesOn(database)).length).toBeGreaterThan(0);
    });
  },
);
