import type { ProcessList, ProcessReport } from './process-list.ts';
import type { CountedGroup, TimeSeries } from './time-series.ts';

/** A minute has a whole number of them, so that each cell gets the same number of writes. */
const PERIOD_MILLISECONDS = 10_000;

/**
 * Reports this process to operators every ten seconds: what it counted since the last report, and
 * its entry in the list of processes. No request waits for it. If the store fails, the increments of
 * that report are lost and counted.
 *
 * @param source.take what the process counted since the last call
 * @param source.countWrite counts the writes to the time series by result, for metrics
 */
export function reportProcess(
  { timeSeries, processes }: { readonly timeSeries: TimeSeries; readonly processes: ProcessList },
  source: {
    readonly app: string;
    readonly take: () => Readonly<Partial<Record<CountedGroup, ReadonlyMap<string, number>>>>;
    readonly describe: () => Promise<Omit<ProcessReport, 'app'>>;
    readonly countWrite: (result: 'stored' | 'lost') => void;
  },
) {
  const { app, take, describe, countWrite } = source;
  const entry = processes.enter();
  /** Each process writes at another time of the period. */
  const phase = Math.random() * PERIOD_MILLISECONDS;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let running = Promise.resolve();

  async function addIncrements(): Promise<void> {
    const increments = take();
    const counts = Object.values(increments).flatMap((group) => [...group.values()]);
    if (counts.every((each) => each === 0)) {
      return;
    }
    await timeSeries.add(app, increments).then(
      () => countWrite('stored'),
      () => countWrite('lost'),
    );
  }

  async function report(): Promise<void> {
    const described = describe().then((details) => entry.report({ app, ...details }));
    await Promise.all([addIncrements(), described.catch(() => undefined)]);
  }

  function schedule(): void {
    const untilNext = PERIOD_MILLISECONDS - ((Date.now() + phase) % PERIOD_MILLISECONDS);
    timer = setTimeout(() => {
      running = report().then(() => (isClosed ? undefined : schedule()));
    }, untilNext).unref();
  }

  running = report().then(() => (isClosed ? undefined : schedule()));
  return {
    /**
     * Adds the last increments, and removes the process from the list. Call it after the last request
     * and before you close the store. Never rejects.
     */
    async close(): Promise<void> {
      isClosed = true;
      clearTimeout(timer);
      await running;
      await Promise.all([addIncrements(), entry.leave().catch(() => undefined)]);
    },
  };
}
