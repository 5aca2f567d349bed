import type { MetricsRegistry, Tracer } from '@gatehouse/server';
import type { CompiledQuery, Driver, LogEvent } from 'kysely';
import { DatabaseUnavailableError, isReadOnlyError, readOnlyError } from './database-errors.ts';
import type { DatabaseEngine } from './tables.ts';

/** By the kind of Kysely's query node. */
const statements: Readonly<Record<string, (typeof statementKinds)[number]>> = {
  SelectQueryNode: 'select',
  InsertQueryNode: 'insert',
  UpdateQueryNode: 'update',
  DeleteQueryNode: 'delete',
};

const statementKinds = ['select', 'insert', 'update', 'delete', 'raw'] as const;

const BUCKETS_SECONDS = [0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5] as const;

/** What the database does: its metrics, the spans of its statements, and whether it accepts writes. */
export type DatabaseObservation = ReturnType<typeof observeDatabase>;

export function observeDatabase(
  registry: MetricsRegistry,
  engine: DatabaseEngine,
  tracer?: Tracer | undefined,
) {
  const labels = { engine: [engine], statement: statementKinds };
  const durations = registry.histogram({
    name: 'gatehouse_database_duration_seconds',
    help: 'Duration of a statement, including failed ones.',
    labels,
    buckets: BUCKETS_SECONDS,
  });
  const failures = registry.counter({
    name: 'gatehouse_database_failures_total',
    help: 'Statements that failed.',
    labels,
  });
  let isUp = true;
  registry.collect({
    name: 'gatehouse_database_up',
    help: '1 if the database answered the last statement, otherwise 0.',
    acrossWorkers: 'min',
    read: () => Number(isUp),
  });
  let refusal: DatabaseUnavailableError | undefined;
  registry.collect({
    name: 'gatehouse_database_writable',
    help: '0 after the database rejected a write, until a write succeeds. Otherwise 1.',
    acrossWorkers: 'min',
    read: () => Number(refusal === undefined),
  });

  function failed(error: unknown): void {
    isUp = !(error instanceof DatabaseUnavailableError);
    if (error instanceof DatabaseUnavailableError && error.refusesWrites) {
      refusal = error;
    }
  }

  return {
    /** For Kysely's `log`, which receives every statement. */
    log(event: LogEvent): void {
      const statement = statements[event.query.query.kind] ?? 'raw';
      const seconds = event.queryDurationMillis / 1000;
      const hasFailed = event.level === 'error';
      durations.of(engine, statement).observe(seconds);
      tracer?.step(`database ${statement}`, seconds, hasFailed);
      if (hasFailed) {
        failures.of(engine, statement).value += 1;
        failed(event.error);
        return;
      }
      isUp = true;
      // SQLite writes to the disk with the commit. A delete may find no row.
      const provesWrites =
        engine === 'sqlite' ? event.query.sql === 'commit' : /^(insert|update)$/.test(statement);
      refusal = provesWrites ? undefined : refusal;
    },
    /** Call it with every other failure, such as that of a connection. */
    failed,
    /** What the server reports about itself. */
    readOnly(isReadOnly: boolean): void {
      if (isReadOnly) {
        refusal ??= readOnlyError();
      } else if (isReadOnlyError(refusal)) {
        refusal = undefined;
      }
    },
    /** @throws DatabaseUnavailableError after a refused write, until one succeeds */
    assertWritable(): void {
      if (refusal !== undefined) {
        throw refusal;
      }
    },
  };
}

/**
 * Runs compiled queries without the executor of Kysely, which passes each query and its result
 * through many asynchronous functions (bench/device-service).
 */
export function runDirectly(driver: Driver, log: (event: LogEvent) => void) {
  return async (query: CompiledQuery): Promise<readonly unknown[]> => {
    const connection = await driver.acquireConnection();
    const startedAt = performance.now();
    try {
      const { rows } = await connection.executeQuery(query);
      log({ level: 'query', query, queryDurationMillis: performance.now() - startedAt });
      return rows;
    } catch (error) {
      log({ level: 'error', error, query, queryDurationMillis: performance.now() - startedAt });
      throw error;
    } finally {
      await driver.releaseConnection(connection);
    }
  };
}
