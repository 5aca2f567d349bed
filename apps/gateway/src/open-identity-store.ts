import { type Logger, type MetricsRegistry, storeSignals } from '@gatehouse/http-server';
import { type Identity, type IdentitySettings, openIdentity } from '@gatehouse/identity';
import { createStore, parseStoreUrl, type Store, storeOperations } from '@gatehouse/store';
import type { GatewayMetrics } from './metrics/gateway-metrics.ts';

/** Opens the store and the identity data in it. Reports its failures to the log and the metrics. */
export function openIdentityStore(
  settings: IdentitySettings,
  dependencies: {
    readonly logger: Logger;
    readonly registry: MetricsRegistry;
    readonly metrics: GatewayMetrics;
  },
): { readonly store: Store; readonly identity: Identity } {
  const { logger, registry, metrics } = dependencies;
  const signals = storeSignals(registry, logger, {
    engine: parseStoreUrl(settings.storeUrl).engine,
    operations: storeOperations,
  });
  const store = createStore(settings.storeUrl, signals);
  const identity = openIdentity({
    store,
    ...settings,
    onAuditLost: (entries, err) =>
      logger.error({ err, audit: entries }, 'audit entries not stored'),
    onAuditEvent: metrics.audited,
    onDamagedRecord: (record, advice) => logger.error({ record, advice }, 'damaged record'),
  });
  return { store, identity };
}
