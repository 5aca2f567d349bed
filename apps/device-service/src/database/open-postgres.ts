import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, PostgresDialect, sql } from 'kysely';
import type { DeviceDatabase, Tables } from '../tables/tables.ts';
import { DatabaseUnavailable } from './database-unavailable.ts';
import { migrateDatabase, type NewDatabaseHook } from './migrate-database.ts';
import { type DatabaseObserver, observeQueries } from './observe-queries.ts';
import type { OpenDatabase } from './open-database.ts';
import { createPostgresPool } from './postgres-pool.ts';
import { probeWrite, watchWrites } from './watch-writes.ts';

const CONNECTIONS = 10;
/** A query on a column without index reads all devices of an organisation: a million take about one second. */
const STATEMENT_TIMEOUT_SECONDS = 5;

/** A database that starts together with this process may come up a little later. */
const START_TIMEOUT_MS = 30_000;
const RETRY_DELAY_MS = 250;
/** Shorter than the two seconds that `/ready` waits for a check. */
const READ_ONLY_DEADLINE_MS = 1000;

export async function openPostgres(
  url: string,
  whenNew: NewDatabaseHook,
  observer?: DatabaseObserver,
): Promise<OpenDatabase> {
  await migrateWhenUp(url, whenNew);
  const pool = createPostgresPool({
    url,
    connections: CONNECTIONS,
    statementTimeoutSeconds: STATEMENT_TIMEOUT_SECONDS,
    onConnect: observer?.answered,
  });
  const writes = watchWrites({
    probe: () => probeWrite(tables, 'postgres'),
    onChange: (isWritable) => observer?.writable(isWritable),
  });
  const tables: DeviceDatabase = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    log: observeQueries(observer, writes),
  });
  return {
    engine: 'postgres',
    tables,
    ping: async () => {
      await sql`select 1`.execute(tables);
    },
    assertWritable: async () => {
      // A server that stays silent has refused nothing: that is for `ping` to report.
      await Promise.race([
        readOnlyRefusal(tables).then(writes.failed, writes.failed),
        sleep(READ_ONLY_DEADLINE_MS, undefined, { ref: false }),
      ]);
      writes.assertWritable();
    },
    close: async () => {
      await writes.close();
      await tables.destroy();
    },
  };
}

/** A standby and a primary that an operator made read-only are seen before the first write fails. */
async function readOnlyRefusal(tables: DeviceDatabase): Promise<DatabaseUnavailable | undefined> {
  const { rows } = await sql<{
    readonly transaction_read_only: string;
  }>`show transaction_read_only`.execute(tables);
  return rows[0]?.transaction_read_only === 'off'
    ? undefined
    : new DatabaseUnavailable(new Error('The database is read-only.'), { refusesWrites: true });
}

/** On a connection of its own that nothing times out: making an index over a million rows takes a while. */
async function migrateWhenUp(url: string, whenNew: NewDatabaseHook): Promise<void> {
  const pool = createPostgresPool({ url, connections: 1, statementTimeoutSeconds: undefined });
  const tables = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const deadline = performance.now() + START_TIMEOUT_MS;
  try {
    for (;;) {
      try {
        await sql`select 1`.execute(tables);
        break;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable) || performance.now() > deadline) {
          throw error;
        }
        await sleep(RETRY_DELAY_MS);
      }
    }
    await migrateDatabase(tables, 'postgres', whenNew);
  } finally {
    await tables.destroy();
  }
}
