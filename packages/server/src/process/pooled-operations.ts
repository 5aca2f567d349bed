import type { Operations, Readiness } from '../server/operations.ts';
import { combineFamilies, type MetricFamily, withoutGauges } from '../telemetry/metric-families.ts';
import type { MetricsRegistry } from '../telemetry/metrics-registry.ts';
import type { WorkerProcess } from './worker-process.ts';

/**
 * The operations of an app with several workers: their answers, combined into one.
 *
 * @param options.metrics of the supervisor itself
 */
export function createPooledOperations(
  workers: ReadonlySet<WorkerProcess>,
  { count, metrics }: { readonly count: number; readonly metrics: MetricsRegistry },
): Operations & { forget(worker: WorkerProcess): void } {
  const scraped = new Map<WorkerProcess, readonly MetricFamily[]>();
  let ended: readonly MetricFamily[] = [];
  const running = () => [...workers].filter((worker) => worker.isRunning());

  return {
    async readiness() {
      const answers = await Promise.allSettled(
        running().map((worker) => worker.ask({ asks: 'readiness' }) as Promise<Readiness>),
      );
      const given = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      // Workers that do not answer accept no connections, so the others decide. The app shows the
      // checks of a worker that is not ready, because its requests fail.
      const shown = given.find(({ ready }) => !ready) ?? given[0];
      const checks = { ...shown?.checks, workers: `${given.length} of ${count}` };
      return { ready: shown?.ready ?? false, checks };
    },
    async metrics() {
      const answered = new Set<WorkerProcess>();
      await Promise.all(
        running().map(async (worker) => {
          const families = await worker.ask({ asks: 'metrics' }).catch(() => undefined);
          if (families !== undefined && worker.state() !== 'ended') {
            scraped.set(worker, families as readonly MetricFamily[]);
            answered.add(worker);
          }
        }),
      );
      for (const [worker, families] of scraped) {
        // A released worker has no channel. Its last values stay until it ends.
        if (!answered.has(worker) && worker.state() !== 'released') {
          scraped.set(worker, withoutGauges(families));
        }
      }
      return combineFamilies([metrics.families(), ...scraped.values(), ended]);
    },
    document: (path) =>
      Promise.any(running().map((worker) => worker.ask({ asks: 'document', path }))),
    /** Keeps the counters of a worker that has ended, because a counter must not decrease. */
    forget(worker) {
      ended = combineFamilies([ended, withoutGauges(scraped.get(worker) ?? [])]);
      scraped.delete(worker);
    },
  };
}
