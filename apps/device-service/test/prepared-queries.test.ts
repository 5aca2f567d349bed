// requires: postgresql
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openDatabase } from '../src/database/open-database.ts';
import { scopeToOrganization } from '../src/database/organization-database.ts';
import type { OpenDatabase } from '../src/database/tables.ts';
import { addDevice } from '../src/devices/add.ts';
import { countDevices, deviceSubject, readDevices } from '../src/devices/pages.ts';
import { findDevice } from '../src/devices/rows.ts';
import { appendToLog, logSubject, readLog } from '../src/logs/sql.ts';
import { parseQuery } from '../src/query/query.ts';
import { storeTags, type TagRow } from '../src/tags.ts';
import { type DatabaseEngineForTest, startDatabaseEngine } from './database-engines.ts';

const newDevice = (id: string, name = id) => ({
  id,
  name,
  productId: 'p',
  productName: 'P',
  configuration: {},
  protocol: null,
  transport: null,
  metadata: null,
  createTime: 1,
});
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
  await addDevice(ours, newDevice(id, `${id} in ${organization}`));
  await storeTags(ours, id, [tag('b', organization), tag('a', organization)], 1);
  await appendToLog(ours, id, [event(organization)], 1);
  const records = await readLog(ours, id, everyRecord);
  const found = await findDevice(ours, id);
  return {
    name: found?.name,
    tagged: (JSON.parse(found?.tags ?? '[]') as TagRow[]).map(
      ({ tag_key, value }) => `${tag_key}=${value}`,
    ),
    listed: (await readDevices(ours, everyDevice, 'en')).rows
      .map(({ json }) => JSON.parse(json).name)
      .sort(),
    counted: await countDevices(ours, undefined),
    logged: records?.rows.map(({ content }) => content),
  };
}

describe('prepared queries', () => {
  let engine: DatabaseEngineForTest;
  let database: OpenDatabase;
  let databases = 0;

  beforeAll(async () => {
    engine = await startDatabaseEngine('sqlite');
  });

  beforeEach(async () => {
    databases += 1;
    database = await openDatabase(await engine.createDatabase(`db${databases}`));
  });

  afterEach(() => database.close());

  afterAll(() => engine.stop());

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
      await sql`alter table ${sql.table(table)} add column added text`.execute(database.tables);
    }
    const after = await useDevices(database, 'ours', 'e');

    expect(before.logged).toEqual(['ours']);
    expect(after).toEqual({
      name: 'e in ours',
      tagged: ['a=ours', 'b=ours'],
      listed: ['d in ours', 'e in ours'],
      counted: 2,
      logged: ['ours'],
    });
  });
});

describe('prepared queries on sqlite', () => {
  test('bind the limit of a page to an expression, which is prepared once', async () => {
    const engine = await startDatabaseEngine('sqlite');
    const database = await openDatabase(engine.location);
    const page = database.tables.selectFrom('devices').select('id').limit(2).offset(1);
    const text = page.compile().sql;
    await database.close();
    await engine.stop();

    expect(text).toContain('limit +? offset +?');
  });

  test('run after another process changed the tables', async () => {
    const engine = await startDatabaseEngine('sqlite');
    const location = await engine.createDatabase('shared');
    const database = await openDatabase(location);
    await useDevices(database, 'ours', 'd');

    const other = new DatabaseSync(location.engine === 'sqlite' ? location.path : '');
    other.exec('alter table device_logs add column added text');
    other.close();
    const { logged } = await useDevices(database, 'ours', 'e');
    await database.close();
    await engine.stop();

    expect(logged).toEqual(['ours']);
  });
});

describe('named statements of postgres', () => {
  let engine: DatabaseEngineForTest;
  let database: OpenDatabase;
  let databases = 0;

  beforeAll(async () => {
    engine = await startDatabaseEngine('postgres');
  });

  beforeEach(async () => {
    databases += 1;
    database = await openDatabase(await engine.createDatabase(`db${databases}`));
  });

  afterEach(() => database.close());

  afterAll(() => engine.stop());

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
    // On a busy disk, PostgreSQL starts slowly after a crash.
  });
});
