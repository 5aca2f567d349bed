import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { DatabaseEngine, DeviceDatabase } from '../tables/tables.ts';
import { DatabaseUnavailableError } from './database-unavailable-error.ts';

/** Reports the database as not writable after a rejected write, until a probe succeeds. */
export interface WriteWatch {
  /** Call it with every error of a statement. */
  failed(error: unknown): void;
  /** @throws DatabaseUnavailableError while the database refuses writes */
  assertWritable(): void;
  close(): Promise<void>;
}

export interface WriteWatchOptions {
  readonly probe: () => Promise<void>;
  readonly onChange: (isWritable: boolean) => void;
}

const PROBE_INTERVAL_MILLISECONDS = 1000;

/** A service may get no request that could show the recovery, so it probes. */
export function watchWrites({ probe, onChange }: WriteWatchOptions): WriteWatch {
  let refusal: DatabaseUnavailableError | undefined;
  let timer: NodeJS.Timeout | undefined;
  let probing: Promise<void> | undefined;

  async function probeOnce(): Promise<void> {
    try {
      await probe();
      refusal = undefined;
      onChange(true);
    } catch {
      schedule();
    }
  }

  function schedule(): void {
    timer = setTimeout(() => {
      probing = probeOnce();
    }, PROBE_INTERVAL_MILLISECONDS).unref();
  }

  return {
    failed(error) {
      if (
        error instanceof DatabaseUnavailableError &&
        error.refusesWrites &&
        refusal === undefined
      ) {
        refusal = error;
        onChange(false);
        schedule();
      }
    },
    assertWritable() {
      if (refusal !== undefined) {
        throw refusal;
      }
    },
    close: async () => {
      clearTimeout(timer);
      await probing;
      clearTimeout(timer);
    },
  };
}

/** More than the 2 MB that SQLite buffers in memory, and more than one request writes. */
const PROBE_BYTES = 4 * 1024 * 1024;

/** Writes a table that needs disk space, then rolls back. */
export async function probeWrite(tables: DeviceDatabase, engine: DatabaseEngine): Promise<void> {
  // Unlogged, because PostgreSQL stops if the probe fills the disk of the write-ahead log.
  const create = engine === 'postgres' ? 'create unlogged table' : 'create table';
  const bytes = engine === 'postgres' ? 'bytea' : 'blob';
  // SQLite makes its own, because a cached statement keeps its values.
  const filler =
    engine === 'postgres' ? sql`${randomBytes(PROBE_BYTES)}` : sql`randomblob(${PROBE_BYTES})`;
  const transaction = await tables.startTransaction().execute();
  try {
    await sql.raw(`${create} write_probe (filler ${bytes})`).execute(transaction);
    await sql`insert into write_probe values (${filler})`.execute(transaction);
  } finally {
    await transaction.rollback().execute();
  }
}
