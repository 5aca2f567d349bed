/**
 * What the device service counts and measures, beside what every server does. Labels are names of the route table
 * and of our own lists: nothing that a caller chooses (SL-08).
 *
 *   observeRequests ─▶ requested      observe-verification ─▶ verified      database/observe-queries ─▶ database
 */
import { errorCatalogue } from '@gatehouse/api-envelope';
import {
  addProcessMetrics,
  createRequestMetrics,
  type MetricsRegistry,
  type RequestObserver,
} from '@gatehouse/http-server';
import { type DatabaseObserver, statementKinds } from '../database/observe-queries.ts';
import type { DatabaseEngine } from '../tables/tables.ts';
import type { Verification } from './observe-verification.ts';

export interface DeviceServiceMetrics {
  /** Once, with the names of the route table. */
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
    help: 'How long an internal token took to verify that was not known yet.',
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
    help: 'How long a statement took, failed ones included.',
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
    help: '1 if the database answered when it was last asked, 0 if it did not.',
    type: 'gauge',
    read: () => up,
  });
  let writable = 1;
  registry.collect({
    name: 'gatehouse_database_writable',
    help: '1 if the database accepts writes, 0 from a write that it refused until a probe succeeds.',
    type: 'gauge',
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
