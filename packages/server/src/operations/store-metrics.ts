import type { MetricsRegistry } from '../metrics/metrics-registry.ts';

const storeStates = ['available', 'full', 'unavailable'] as const;

/** Calls of a store to its observer. */
export interface StoreMetrics {
  observer(operation: string, seconds: number, failed: boolean): void;
  changedTo(state: (typeof storeStates)[number]): void;
  onRoom(room: { readonly usedBytes: number; readonly maximumBytes: number | undefined }): void;
}

const LATENCY_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.5] as const;

/**
 * Metrics for the duration of store operations and the availability of the store.
 *
 * @param store.operations the operations of its port
 */
export function createStoreMetrics(
  registry: MetricsRegistry,
  { engine, operations }: { readonly engine: string; readonly operations: readonly string[] },
): StoreMetrics {
  const latency = registry.histogram({
    name: 'gatehouse_store_duration_seconds',
    help: 'Duration of a store operation, including failed ones.',
    labels: { engine: [engine], operation: operations },
    buckets: LATENCY_BUCKETS_SECONDS,
  });
  const failures = registry.counter({
    name: 'gatehouse_store_failures_total',
    help: 'Store operations that failed.',
    labels: { engine: [engine], operation: operations },
  });
  // From the start, so that Prometheus sees the first operation of a kind.
  for (const operation of operations) {
    latency.of(engine, operation);
    failures.of(engine, operation);
  }
  let current: (typeof storeStates)[number] = 'available';
  registry.collect({
    name: 'gatehouse_store_up',
    help: '1 while the store reads and writes, otherwise 0.',
    type: 'gauge',
    acrossWorkers: 'min',
    read: () => (current === 'available' ? 1 : 0),
  });
  registry.collect({
    name: 'gatehouse_store_state',
    help: '1 for the current state of the store, otherwise 0.',
    type: 'gauge',
    acrossWorkers: 'max',
    read: () =>
      storeStates.map((state) => ({ labels: { state }, value: state === current ? 1 : 0 })),
  });
  const onRoom = collectRoom(registry);
  return {
    observer(operation, seconds, failed) {
      latency.of(engine, operation).observe(seconds);
      if (failed) {
        failures.of(engine, operation).value += 1;
      }
    },
    changedTo(state) {
      current = state;
    },
    onRoom,
  };
}

function collectRoom(registry: MetricsRegistry): StoreMetrics['onRoom'] {
  let room: Parameters<StoreMetrics['onRoom']>[0] | undefined;
  const samples = (value: number | undefined) => (value === undefined ? [] : [{ value }]);
  registry.collect({
    name: 'gatehouse_store_used_bytes',
    help: 'Space that the store uses. In a cluster, that of its fullest master.',
    type: 'gauge',
    acrossWorkers: 'max',
    read: () => samples(room?.usedBytes),
  });
  registry.collect({
    name: 'gatehouse_store_maximum_bytes',
    help: 'Space that the store may use. Absent if it has no limit.',
    type: 'gauge',
    acrossWorkers: 'min',
    read: () => samples(room?.maximumBytes),
  });
  return (measured) => {
    room = measured;
  };
}
