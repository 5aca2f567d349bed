import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, PostgresDialect, sql } from 'kysely';
import type { DeviceDatabase, Tables } from '../tables/tables.ts';
import { DatabaseUnavailableError } from './database-unavailable-error.ts';
import { allowDirectQueries } from './direct-queries.ts';
import { migrateDatabase, type NewDatabaseCallback } from './migrate-database.ts';
import { observeQueries } from './observe-queries.ts';
import type { OpenDatabase, OpenOptions } from './open-database.ts';
import { createPostgresPool } from './postgres-pool.ts';
import { readPostgresState } from './postgres-state.ts';
import { probeWrite, watchWrites } from './watch-writes.ts';

/** Of all workers together. A worker has at least two, so that one slow query does not block it. */
const CONNECTIONS = 10;
const LEAST_CONNECTIONS = 2;
/** A query on a column without an index reads a million devices in about one second. */
const STATEMENT_TIMEOUT_SECONDS = 5;

/** The database may start at the same time as this process. */
const START_TIMEOUT_MILLISECONDS = 30_000;
const RETRY_DELAY_MILLISECONDS = 250;
/** `/ready` waits 700 ms for a check. */
const READ_ONLY_DEADLINE_MILLISECONDS = 400;

export async function openPostgres(
  url: string,
  onNewDatabase: NewDatabaseCallback,
  { observer, workers = 1 }: OpenOptions = {},
): Promise<OpenDatabase> {
  await migrateWhenUp(url, onNewDatabase);
  const connections = Math.max(Math.ceil(CONNECTIONS / workers), LEAST_CONNECTIONS);
  const pool = createPostgresPool({
    url,
    connections,
    statementTimeoutSeconds: STATEMENT_TIMEOUT_SECONDS,
    onConnect: observer?.answered,
  });
  const writes = watchWrites({
    probe: () => probeWrite(tables, 'postgres'),
    onChange: (isWritable) => observer?.writable(isWritable),
  });
  const log = observeQueries(observer, writes);
  const tables: DeviceDatabase = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    log,
  });
  allowDirectQueries(tables, pool, log);
  return {
    engine: 'postgres',
    tables,
    ping: async () => {
      await sql`select 1`.execute(tables);
    },
    assertWritable: async () => {
      // `ping` reports a server that does not answer.
      await Promise.race([
        readOnlyError(tables).then(writes.failed, writes.failed),
        sleep(READ_ONLY_DEADLINE_MILLISECONDS, undefined, { ref: false }),
      ]);
      writes.assertWritable();
    },
    about: () => readPostgresState(tables, connections * workers),
    close: async () => {
      await writes.close();
      await tables.destroy();
    },
  };
}

/** Detects a standby or a read-only primary before the first write fails. */
async function readOnlyError(
  tables: DeviceDatabase,
): Promise<DatabaseUnavailableError | undefined> {
  const { rows } = await sql<{
    readonly transaction_read_only: string;
  }>`show transaction_read_only`.execute(tables);
  return rows[0]?.transaction_read_only === 'off'
    ? undefined
    : new DatabaseUnavailableError(new Error('The database is read-only.'), {
        refusesWrites: true,
      });
}

/** Uses a connection without timeouts: creating an index over a million rows takes a while. */
async function migrateWhenUp(url: string, onNewDatabase: NewDatabaseCallback): Promise<void> {
  const pool = createPostgresPool({ url, connections: 1, statementTimeoutSeconds: undefined });
  const tables = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const deadline = performance.now() + START_TIMEOUT_MILLISECONDS;
  try {
    for (;;) {
      try {
        await sql`select 1`.execute(tables);
        break;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailableError) || performance.now() > deadline) {
          throw error;
        }
        await sleep(RETRY_DELAY_MILLISECONDS);
      }
    }
    await migrateDatabase(tables, 'postgres', onNewDatabase);
  } finally {
    await tables.destroy();
  }
}
