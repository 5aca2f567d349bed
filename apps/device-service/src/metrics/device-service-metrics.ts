/**
 * The metrics of the device service, in addition to those of every server. Label values come from
 * fixed lists and never from a caller (SL-08).
 *
 *   observeRequests ─▶ requested      observe-verification ─▶ verified      database/observe-queries ─▶ database
 */
import { errorCatalogue } from '@gatehouse/errors';
import {
  addProcessMetrics,
  createRequestMetrics,
  type MetricsRegistry,
  type RequestObserver,
} from '@gatehouse/server';
import { type DatabaseObserver, statementKinds } from '../database/observe-queries.ts';
import type { DatabaseEngine } from '../tables/tables.ts';
import type { Verification } from './observe-verification.ts';

export interface DeviceServiceMetrics {
  /** Call it once, with the names of all operations. */
  observeRequests(operations: readonly string[]): RequestObserver;
  readonly verified: (verification: Verification) => void;
  readonly database: DatabaseObserver;
}

const VERIFICATION_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.01, 0.05, 0.5] as const;
const QUERY_BUCKETS_SECONDS = [0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5] as const;

export function createDeviceServiceMetrics(
  registry: MetricsRegistry,
  { engine }: { readonly engine: DatabaseEngine },
): DeviceServiceMetrics {
  addProcessMetrics(registry, { app: 'device-service' });
  const verifications = registry.histogram({
    name: 'gatehouse_verification_duration_seconds',
    help: 'Duration of verifying an internal token that was not cached.',
    labels: { credential: ['internal-token'], result: ['accepted', 'refused', 'unavailable'] },
    buckets: VERIFICATION_BUCKETS_SECONDS,
  });
  return {
    observeRequests: (operations) =>
      createRequestMetrics(registry, {
        operations,
        credentials: [],
        codes: Object.keys(errorCatalogue),
      }),
    verified: ({ result, seconds }) => verifications.of('internal-token', result).observe(seconds),
    database: createDatabaseObserver(registry, engine),
  };
}

function createDatabaseObserver(
  registry: MetricsRegistry,
  engine: DatabaseEngine,
): DatabaseObserver {
  const labels = { engine: [engine], statement: statementKinds };
  const durations = registry.histogram({
    name: 'gatehouse_database_duration_seconds',
    help: 'Duration of a statement, including failed ones.',
    labels,
    buckets: QUERY_BUCKETS_SECONDS,
  });
  const failures = registry.counter({
    name: 'gatehouse_database_failures_total',
    help: 'Statements that failed.',
    labels,
  });
  let up = 1;
  registry.collect({
    name: 'gatehouse_database_up',
    help: '1 if the database answered the last statement, otherwise 0.',
    type: 'gauge',
    acrossWorkers: 'min',
    read: () => up,
  });
  let writable = 1;
  registry.collect({
    name: 'gatehouse_database_writable',
    help: '0 after the database rejected a write, until a probe succeeds. Otherwise 1.',
    type: 'gauge',
    acrossWorkers: 'min',
    read: () => writable,
  });
  return {
    queried(statement, seconds, failed) {
      durations.of(engine, statement).observe(seconds);
      if (failed) {
        failures.of(engine, statement).value += 1;
      }
    },
    answered(isAvailable) {
      up = isAvailable ? 1 : 0;
    },
    writable(isWritable) {
      writable = isWritable ? 1 : 0;
    },
  };
}
