import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMetricsRegistry, type MetricsRegistry } from '@gatehouse/server';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { DatabaseUnavailableError } from '../src/database/database-errors.ts';
import { openDatabase } from '../src/database/open-database.ts';
import {
  type OrganizationDatabase,
  scopeToOrganization,
} from '../src/database/organization-database.ts';
import type { OpenDatabase } from '../src/database/tables.ts';
import { findDevice } from '../src/devices/rows.ts';
import { createDevice } from '../src/devices/rules.ts';
import { newDevice } from './new-device.ts';

const ids = (count: number) => Array.from({ length: count }, (_, i) => `d-${i}`);

describe('transactions of SQLite that share a commit', () => {
  let directory: string;
  let path: string;
  let database: OpenDatabase;
  let ours: OrganizationDatabase;
  let registry: MetricsRegistry;
  let other: DatabaseSync;

  beforeEach(async () => {
    directory = temporaryFolder();
    path = join(directory, 'devices.sqlite');
    registry = createMetricsRegistry();
    database = await openDatabase({ engine: 'sqlite', path }, undefined, 1, registry);
    ours = scopeToOrganization(database, 'ours');
    await add(newDevice('first'));
    other = new DatabaseSync(path);
  });

  afterEach(async () => {
    other.close();
    await database.close();
  });

  const add = (device: object) => createDevice(ours, device, 1);
  const rawStatements = () =>
    registry
      .families()
      .find(({ name }) => name === 'gatehouse_database_duration_seconds')
      ?.samples.find(({ name, labels }) => name?.endsWith('_count') && labels?.statement === 'raw')
      ?.value ?? 0;

  /** As another process sees it. */
  const committed = () =>
    Number(other.prepare('select count(*) as count from devices').get()?.count) - 1;

  test('succeed only after the commit, all of them, with one begin and one commit', async () => {
    const before = rawStatements();
    const seen: number[] = [];
    await Promise.all(ids(20).map((id) => add(newDevice(id)).then(() => seen.push(committed()))));

    expect(seen).toEqual(ids(20).map(() => 20));
    const savepoints = 2 * 20;
    expect(rawStatements() - before).toBe(savepoints + 2);
  });

  test('fail alone if their own work fails', async () => {
    const outcomes = await Promise.allSettled(['a', 'b', 'a', 'c'].map((id) => add(newDevice(id))));
    const failed = outcomes.map(({ status }) => status === 'rejected');
    expect(failed).toEqual([false, false, true, false]);
    expect(committed()).toBe(3);
  });

  test('leave nothing if the only one fails', async () => {
    await expect(add(newDevice('first'))).rejects.toThrow();
    expect(committed()).toBe(0);

    other.exec('begin immediate; rollback');
    await add(newDevice('a'));
    expect(committed()).toBe(1);
  });

  test('are committed before a read that follows them runs', async () => {
    let wasCommitted = 0;
    const added = add(newDevice('a'));
    const read = findDevice(ours, 'a').then((found) => {
      wasCommitted = committed();
      return found;
    });

    expect((await read)?.id).toBe('a');
    expect(wasCommitted).toBe(1);
    await added;
  });

  test('all fail if SQLite rolls back because the disk is full, and later ones succeed', async () => {
    const large = Object.fromEntries(ids(100).map((key) => [key, 'x'.repeat(4000)]));
    await sql`pragma max_page_count = 60`.execute(database.tables);
    const outcomes = await Promise.allSettled([
      add(newDevice('small')),
      add(newDevice('large', { configuration: large })),
    ]);
    const stored = committed();

    // Whether SQLite undoes the statement or the transaction, a success is stored, and no failure.
    expect(outcomes[1]?.status).toBe('rejected');
    expect(stored).toBe(outcomes[0]?.status === 'fulfilled' ? 1 : 0);
    await sql`pragma max_page_count = 100000`.execute(database.tables);
    await add(newDevice('later', { configuration: large }));
    expect(committed()).toBe(stored + 1);
  });

  test('all fail if the transaction around them is lost, and later ones succeed', async () => {
    const outcomes = await Promise.allSettled([
      add(newDevice('a')),
      database.tables.transaction().execute(async (transaction) => {
        // As SQLite does after an I/O error.
        await sql`rollback`.execute(transaction);
        throw new Error('lost');
      }),
    ]);
    const errors = outcomes.map((each) => (each.status === 'rejected' ? each.reason : undefined));

    expect(errors[0]).toBeInstanceOf(DatabaseUnavailableError);
    expect(errors[1]).toEqual(new Error('lost'));
    expect(committed()).toBe(0);
    await add(newDevice('later'));
    expect(committed()).toBe(1);
  });

  test('all fail if the commit fails, and later ones succeed', async () => {
    await sql`create table parents (id integer primary key)`.execute(database.tables);
    await sql`create table children
      (parent integer references parents (id) deferrable initially deferred)`.execute(
      database.tables,
    );
    const outcomes = await Promise.allSettled([
      add(newDevice('a')),
      // SQLite checks the reference when it commits.
      database.tables
        .transaction()
        .execute((transaction) => sql`insert into children values (1)`.execute(transaction)),
      add(newDevice('b')),
    ]);

    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(committed()).toBe(0);
    await add(newDevice('later'));
    expect(committed()).toBe(1);
  });

  test('wait for one that takes several event-loop turns', async () => {
    const added = add(newDevice('a'));
    const slow = database.tables.transaction().execute(async (transaction) => {
      await sleep(20);
      await sql`select 1`.execute(transaction);
      return committed();
    });
    const next = add(newDevice('b'));

    expect(await slow).toBe(0);
    await Promise.all([added, next]);
    expect(committed()).toBe(2);
  });
});
