import type { MetricsRegistry } from '../telemetry/metrics-registry.ts';

/** Counts what happened to the entries of the request log. */
export function createRequestLogMetrics(
  registry: MetricsRegistry,
  results: readonly string[],
): (result: string, entries: number) => void {
  const entriesByResult = registry.counter({
    name: 'gatehouse_request_log_entries_total',
    help: 'Entries for the request log, by what happened to them.',
    labels: { result: results },
  });
  return (result, entries) => {
    entriesByResult.of(result).value += entries;
  };
}
