import type { Logger } from '../logging/logger.ts';
import type { MetricsRegistry } from '../metrics/metrics-registry.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { createStoreMetrics, type StoreMetrics } from './store-metrics.ts';

/** Signals of a store, in the form of its options. */
export interface StoreSignals extends Pick<StoreMetrics, 'observer' | 'onRoom'> {
  onStateChange(state: Parameters<StoreMetrics['changedTo']>[0], reason: string | undefined): void;
  onWarning(message: string): void;
}

/** Writes the signals of a store to the metrics and traces, and each change to the log. */
export function storeSignals(
  registry: MetricsRegistry,
  logger: Logger,
  store: Parameters<typeof createStoreMetrics>[1],
  tracer?: Tracer,
): StoreSignals {
  const { observer, onRoom, changedTo } = createStoreMetrics(registry, store);
  return {
    observer:
      tracer === undefined
        ? observer
        : (operation, seconds, failed) => {
            observer(operation, seconds, failed);
            tracer.step(`store ${operation}`, seconds, failed);
          },
    onRoom,
    onStateChange(state, reason) {
      changedTo(state);
      logger.warn({ state, reason }, `store ${state}`);
    },
    onWarning: (message) => logger.warn(message),
  };
}
