import type { Logger } from './logger.ts';
import type { MetricsRegistry } from './metrics-registry.ts';
import type { Tracer } from './tracer.ts';

const storeStates = ['available', 'full', 'unavailable'] as const;
type StoreState = (typeof storeStates)[number];

const LATENCY_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.5] as const;

/**
 * Writes the signals of a store to the metrics and traces, and each change to the log.
 *
 * @param store.operations the operations of its port
 */
export function storeSignals(
  registry: MetricsRegistry,
  logger: Pick<Logger, 'warn'>,
  { engine, operations }: { readonly engine: string; readonly operations: readonly string[] },
  tracer?: Tracer,
) {
  const labels = { engine: [engine], operation: operations };
  const latency = registry.histogram({
    name: 'gatehouse_store_duration_seconds',
    help: 'Duration of a store operation, including failed ones.',
    labels,
    buckets: LATENCY_BUCKETS_SECONDS,
  });
  const failures = registry.counter({
    name: 'gatehouse_store_failures_total',
    help: 'Store operations that failed.',
    labels,
  });
  // From the start, so that Prometheus sees the first operation of a kind.
  for (const operation of operations) {
    latency.of(engine, operation);
    failures.of(engine, operation);
  }
  let current: StoreState = 'available';
  registry.collect({
    name: 'gatehouse_store_up',
    help: '1 while the store reads and writes, otherwise 0.',
    acrossWorkers: 'min',
    read: () => Number(current === 'available'),
  });
  registry.collect({
    name: 'gatehouse_store_state',
    help: '1 for the current state of the store, otherwise 0.',
    acrossWorkers: 'max',
    read: () =>
      storeStates.map((state) => ({ labels: { state }, value: Number(state === current) })),
  });
  return {
    observer(operation: string, seconds: number, failed: boolean) {
      latency.of(engine, operation).observe(seconds);
      if (failed) {
        failures.of(engine, operation).value += 1;
      }
      tracer?.step(`store ${operation}`, seconds, failed);
    },
    onRoom: collectRoom(registry),
    onStateChange(state: StoreState, reason: string | undefined) {
      current = state;
      logger.warn({ state, reason }, `store ${state}`);
    },
    onWarning: (message: string) => logger.warn(message),
  };
}

function collectRoom(registry: MetricsRegistry) {
  let room: { readonly usedBytes: number; readonly maximumBytes: number | undefined } | undefined;
  registry.collect({
    name: 'gatehouse_store_used_bytes',
    help: 'Space that the store uses. In a cluster, that of its fullest master.',
    acrossWorkers: 'max',
    read: () => room?.usedBytes,
  });
  registry.collect({
    name: 'gatehouse_store_maximum_bytes',
    help: 'Space that the store may use. Absent if it has no limit.',
    acrossWorkers: 'min',
    read: () => room?.maximumBytes,
  });
  return (measured: typeof room) => {
    room = measured;
  };
}
