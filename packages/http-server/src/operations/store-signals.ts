import type { Logger } from '../logging/logger.ts';
import type { MetricsRegistry } from '../metrics/metrics-registry.ts';
import { createStoreMetrics, type StoreMetrics } from './store-metrics.ts';

/** What a store reports to its owner, as its options have it. */
export interface StoreSignals extends Pick<StoreMetrics, 'observer' | 'onRoom'> {
  onStateChange(state: Parameters<StoreMetrics['changedTo']>[0], reason: string | undefined): void;
  onWarning(message: string): void;
}

/** A store's signals in the metrics and, a line for each change, in the log. */
export function storeSignals(
  registry: MetricsRegistry,
  logger: Logger,
  store: Parameters<typeof createStoreMetrics>[1],
): StoreSignals {
  const { observer, onRoom, changedTo } = createStoreMetrics(registry, store);
  return {
    observer,
    onRoom,
    onStateChange(state, reason) {
      changedTo(state);
      logger.warn({ state, reason }, `store ${state}`);
    },
    onWarning: (message) => logger.warn(message),
  };
}
