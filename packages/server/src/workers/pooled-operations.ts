import type { Operations, Readiness } from '../server/operations.ts';
import type { MetricFamily } from '../telemetry/metric-families.ts';
import { combineFamilies, withoutGauges } from '../telemetry/metric-families.ts';
import type { MetricsRegistry } from '../telemetry/metrics-registry.ts';
import type { WorkerProcess } from './worker-process.ts';

export interface PooledOperations extends Operations {
  /** Keeps the counters of a worker that has ended, because a counter must not decrease. */
  forget(worker: WorkerProcess): void;
}

/** @param options.metrics of the supervisor itself */
export function createPooledOperations({
  count,
  running,
  metrics,
}: {
  readonly count: number;
  readonly running: () => readonly WorkerProcess[];
  readonly metrics: MetricsRegistry;
}): PooledOperations {
  const scraped = new Map<WorkerProcess, readonly MetricFamily[]>();
  let ended: readonly MetricFamily[] = [];

  return {
    async readiness() {
      const answers = await askAll<Readiness>(running(), 'readiness');
      const workers = `${answers.length} of ${count}`;
      // Workers that do not answer accept no connections, so the others decide. The app shows the
      // checks of a worker that is not ready, because its requests fail.
      const shown = answers.find(({ ready }) => !ready) ?? answers[0];
      return { ready: shown?.ready ?? false, checks: { ...shown?.checks, workers } };
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
    async document(path) {
      for (const worker of running()) {
        try {
          return await worker.ask({ asks: 'document', path });
        } catch {
          // Another worker may have it.
        }
      }
      throw new Error('No worker has the document.');
    },
    forget(worker) {
      ended = combineFamilies([ended, withoutGauges(scraped.get(worker) ?? [])]);
      scraped.delete(worker);
    },
  };
}

async function askAll<Value>(
  workers: readonly WorkerProcess[],
  asks: 'readiness',
): Promise<readonly Value[]> {
  const answers = await Promise.allSettled(workers.map((worker) => worker.ask({ asks })));
  return answers.flatMap((answer) =>
    answer.status === 'fulfilled' ? [answer.value as Value] : [],
  );
}
