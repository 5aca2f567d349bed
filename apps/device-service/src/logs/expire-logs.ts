import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import type { DatabaseEngine, DeviceDatabase } from '../tables/tables.ts';

const SECOND = 1000;
const DAY = 24 * 60 * 60 * SECOND;

/** A step locks what it deletes, and on SQLite the whole database, so it is short. */
const RECORDS_PER_STEP = 500;
const PAUSE_BETWEEN_STEPS_MS = 50;
const SWEEP_EVERY_MS = 60 * SECOND;

export interface LogExpiryOptions {
  readonly database: DeviceDatabase;
  readonly engine: DatabaseEngine;
  readonly retentionDays: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly onFailure: (error: unknown) => void;
}

export interface LogExpiry {
  /** Resolves when the step that runs, if one does, is done. */
  close(): Promise<void>;
}

/**
 * Deletes one step of the records that were stored before a time, of every organisation, oldest first by an
 * index: it reads what it deletes and nothing else. Several processes may do it at once.
 *
 * @returns how many were deleted; less than a step: nothing is left for now
 */
export async function expireLogStep(
  database: DeviceDatabase,
  engine: DatabaseEngine,
  storedBefore: number,
  limit: number = RECORDS_PER_STEP,
): Promise<number> {
  const address = sql.ref(engine === 'postgres' ? 'ctid' : 'rowid');
  const oldest = sql`select ${address} from device_logs where create_time < ${storedBefore}
    order by create_time limit ${limit}`;
  const result = await (engine === 'postgres'
    ? sql`delete from device_logs where ctid = any (array(${oldest} for update skip locked))`
    : sql`delete from device_logs where rowid in (${oldest})`
  ).execute(database);
  return Number(result.numAffectedRows ?? 0);
}

/** Sweeps now and every minute, step by step with pauses, until it is closed. */
export function startLogExpiry(options: LogExpiryOptions): LogExpiry {
  const { database, engine, retentionDays, now, onFailure } = options;
  const stop = new AbortController();

  async function sweep(): Promise<void> {
    const storedBefore = now() - retentionDays * DAY;
    let deleted = RECORDS_PER_STEP;
    while (deleted === RECORDS_PER_STEP && !stop.signal.aborted) {
      deleted = await expireLogStep(database, engine, storedBefore);
      await pause(PAUSE_BETWEEN_STEPS_MS);
    }
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        await sweep();
      } catch (error) {
        // A database that is away comes back; anything else is worth a line in the log as well.
        onFailure(error instanceof DatabaseUnavailable ? error.cause : error);
      }
      await pause(SWEEP_EVERY_MS);
    }
  }

  async function pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { ref: false, signal: stop.signal }).catch(
      () => undefined,
    );
  }

  const running = run();
  return {
    close: async () => {
      stop.abort();
      await running;
    },
  };
}
