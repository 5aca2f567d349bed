import type { MetricsRegistry } from './metrics-registry.ts';

/** The two calls that a store makes to whoever observes it. */
export interface StoreMetrics {
  observed(operation: string, seconds: number, failed: boolean): void;
  changedTo(state: 'available' | 'unavailable'): void;
}

const LATENCY_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.5] as const;

/**
 * How long a store takes, and whether it is there.
 *
 * @param store.operations the operations of its port
 */
export function createStoreMetrics(
  registry: MetricsRegistry,
  { engine, operations }: { readonly engine: string; readonly operations: readonly string[] },
): StoreMetrics {
  const latency = registry.histogram({
    name: 'gatehouse_store_duration_seconds',
    help: 'How long an operation of the store took, failed ones included.',
    labels: { engine: [engine], operation: operations },
    buckets: LATENCY_BUCKETS_SECONDS,
  });
  const failures = registry.counter({
    name: 'gatehouse_store_failures_total',
    help: 'Operations of the store that failed.',
    labels: { engine: [engine], operation: operations },
  });
  let up = 1;
  registry.collect({
    name: 'gatehouse_store_up',
    help: '1 while the store answers, 0 while it does not.',
    type: 'gauge',
    read: () => up,
  });
  return {
    observed(operation, seconds, failed) {
      latency.of(engine, operation).observe(seconds);
      if (failed) {
        failures.of(engine, operation).value += 1;
      }
    },
    changedTo(state) {
      up = state === 'available' ? 1 : 0;
    },
  };
}
