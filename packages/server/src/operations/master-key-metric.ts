import type { MetricsRegistry } from '../metrics/metrics-registry.ts';

/** Shows the key that a server encrypts with, so that operators can compare all servers. */
export function collectMasterKey(registry: MetricsRegistry, currentKeyId: () => string): void {
  registry.collect({
    name: 'gatehouse_master_key_info',
    help: 'The id of the master key that encrypts. The value is always 1.',
    type: 'gauge',
    acrossWorkers: 'max',
    read: () => [{ labels: { key_id: currentKeyId() }, value: 1 }],
  });
}
