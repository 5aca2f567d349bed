import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { DatabaseUnavailableError } from '../database/database-errors.ts';
import type { OpenDatabase } from '../database/tables.ts';

const SECOND = 1000;
const DAY = 24 * 60 * 60 * SECOND;

/** A step is small because it locks the deleted rows, or on SQLite the whole database. */
const RECORDS_PER_STEP = 500;
const PAUSE_BETWEEN_STEPS_MILLISECONDS = 50;
const SWEEP_EVERY_MILLISECONDS = 60 * SECOND;

/**
 * Deletes up to `limit` of the oldest records of all organizations that were stored before a time.
 * An index limits what it reads. Several processes can run it at the same time.
 *
 * @returns the number of deleted records. Fewer than `limit`: there are no more.
 */
export async function expireLogStep(
  { tables, engine }: Pick<OpenDatabase, 'tables' | 'engine'>,
  storedBefore: number,
  limit: number = RECORDS_PER_STEP,
): Promise<number> {
  const address = sql.ref(engine === 'postgres' ? 'ctid' : 'rowid');
  const oldest = sql`select ${address} from device_logs where create_time < ${storedBefore}
    order by create_time limit ${limit}`;
  const result = await (engine === 'postgres'
    ? sql`delete from device_logs where ctid = any (array(${oldest} for update skip locked))`
    : sql`delete from device_logs where rowid in (${oldest})`
  ).execute(tables);
  return Number(result.numAffectedRows ?? 0);
}

/**
 * Deletes expired records now and every minute, in small steps. `close` resolves after the current
 * step.
 */
export function startLogExpiry(dependencies: {
  readonly database: Pick<OpenDatabase, 'tables' | 'engine'>;
  readonly retentionDays: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly onFailure: (error: unknown) => void;
}) {
  const { database, retentionDays, now, onFailure } = dependencies;
  const stop = new AbortController();
  const pause = (milliseconds: number) =>
    sleep(milliseconds, undefined, { ref: false, signal: stop.signal }).catch(() => undefined);

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      const deleted = await expireLogStep(database, now() - retentionDays * DAY).catch(
        (error: unknown) => {
          // The next sweep tries again. Log the underlying error of an unavailable database.
          onFailure(error instanceof DatabaseUnavailableError ? error.cause : error);
          return 0;
        },
      );
      const isDone = deleted < RECORDS_PER_STEP;
      await pause(isDone ? SWEEP_EVERY_MILLISECONDS : PAUSE_BETWEEN_STEPS_MILLISECONDS);
    }
  }

  const running = run();
  return {
    async close(): Promise<void> {
      stop.abort();
      await running;
    },
  };
}
