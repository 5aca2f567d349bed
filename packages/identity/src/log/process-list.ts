/**
 * The processes that serve an installation, with their readiness and the settings in effect, for
 * operators. Each process keeps one entry in a bounded log that all processes share.
 *
 * Not here: workers' supervisors, which open no store, and the device service, which has none. The
 * gateway reports whether that service answers.
 */
import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import { parseRecord, type RecordDependencies } from '../records/record.ts';
import type { CountedGroup, TimeSeries } from './time-series.ts';

const KEY = 'processes';
/** When an operator last asked for a reload, in epoch milliseconds. */
const RELOAD_KEY = 'processes:reload';
/** Longer than any process fails to read it. */
const RELOAD_SECONDS = 60 * 60;
/** An entry has about 4 KB, and that of a gateway with many routes up to 60 KB. */
const MAXIMUM_PROCESSES = 256;
/** A process that did not report for this long has ended, or cannot reach the store. */
export const PROCESS_EXPIRES_SECONDS = 60;

const states = z.record(z.string(), z.string());
const texts = z.array(z.string()).readonly();

/** What a process reports. It contains no secret. */
const processEntry = z.object({
  /** A random id of the process. */
  id: z.string(),
  app: z.string(),
  version: z.string(),
  host: z.string(),
  pid: z.number(),
  /** The number of the worker, if the app has several. */
  worker: z.number().optional(),
  /** Epoch milliseconds. */
  startedAt: z.number(),
  /** Epoch milliseconds of this report. */
  checkedAt: z.number(),
  ready: z.boolean(),
  /** The state of each dependency, as in `/ready`. */
  checks: states,
  /** Of a gateway: whether each upstream answers. */
  circuits: states.optional(),
  /** Of a gateway: the first of its routes, and how many there are. */
  routes: z
    .object({
      count: z.number(),
      first: z
        .array(
          z.object({
            /** Method and path. */
            route: z.string(),
            upstream: z.string().optional(),
            /** The scope, and the other members of `ROUTES_FILE` that a caller must satisfy. */
            requires: z.string(),
            origin: z.enum(['file', 'default']),
          }),
        )
        .readonly(),
    })
    .optional(),
  /** Of an app that reloads: when it loaded its configuration, and why it could not do it again. */
  configuration: z.object({ loadedAt: z.number(), problems: texts }).optional(),
  /** The settings in effect. The value of a secret is absent. */
  settings: z
    .array(
      z.object({
        name: z.string(),
        value: z.string().optional(),
        origin: z.enum(['variable', 'file', 'default']),
      }),
    )
    .readonly(),
});

export type ProcessEntry = Readonly<z.infer<typeof processEntry>>;

type ProcessReport = Omit<
  ProcessEntry,
  'id' | 'host' | 'pid' | 'worker' | 'startedAt' | 'checkedAt'
>;

type ProcessList = ReturnType<typeof createProcessList>;

export function createProcessList({ store, now }: RecordDependencies) {
  const options = { maximumAgeSeconds: PROCESS_EXPIRES_SECONDS };

  return {
    /** Opens the entry of this process. */
    enter() {
      const id = randomBytes(9).toString('base64url');
      const { pid } = process;
      const self = { id, host: hostname(), pid, worker: cluster.worker?.id, startedAt: now() };
      let last: string | undefined;
      /** When the last reload that this process knows of was requested. Undefined: it just started. */
      let known: number | undefined;
      const replace = async (lines: readonly string[]): Promise<void> => {
        const replaces = last;
        last = lines[0];
        await store.append(KEY, lines, MAXIMUM_PROCESSES, { ...options, replaces });
      };
      return {
        /** Replaces the entry. @throws StoreUnavailableError */
        report: (report: ProcessReport): Promise<void> =>
          replace([JSON.stringify({ ...self, checkedAt: now(), ...report })]),
        /** Whether an operator asked for a reload since the last call. @throws StoreUnavailableError */
        async isReloadWanted(): Promise<boolean> {
          const wantedAt = Number((await store.get(RELOAD_KEY)) ?? 0);
          // The clocks of consoles differ, so a later request can have an earlier time.
          const isNew =
            known === undefined ? wantedAt > performance.timeOrigin : wantedAt !== known;
          known = wantedAt;
          return isNew && wantedAt > 0;
        },
        /** Removes the entry. @throws StoreUnavailableError */
        leave: (): Promise<void> => replace([]),
      };
    },
    /** Asks each process that can reload to do it before its next report. */
    requestReload: (): Promise<void> => store.set(RELOAD_KEY, String(now()), RELOAD_SECONDS),
    /** The processes that reported within the last minute, by app, host and process id. */
    async read(): Promise<readonly ProcessEntry[]> {
      const newest = new Map<string, ProcessEntry>();
      for (const line of await store.read(KEY, MAXIMUM_PROCESSES)) {
        const entry = parseRecord(processEntry, line);
        const isLive =
          entry !== undefined && entry.checkedAt > now() - PROCESS_EXPIRES_SECONDS * 1000;
        // If the reply to a write was lost, an outdated line of a process can remain.
        if (isLive && !newest.has(entry.id)) {
          newest.set(entry.id, entry);
        }
      }
      const order = ({ app, host, pid }: ProcessEntry) => `${app} ${host} ${pid}`;
      return [...newest.values()].sort((a, b) => order(a).localeCompare(order(b)));
    },
  };
}

/** A minute has a whole number of them, so that each cell gets the same number of writes. */
const PERIOD_MILLISECONDS = 10_000;

/**
 * Reports this process to operators every ten seconds: what it counted since the last report, and
 * its entry in the list of processes. If an operator asked for a reload, it reloads first. No request
 * waits for a report. If the store fails, the increments of that report are lost and counted.
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
    /** Of `createReload`. Undefined: the app reads its configuration only when it starts. */
    readonly reload?: () => Promise<void>;
  },
) {
  const { app, take, describe, countWrite, reload } = source;
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

  async function reportEntry(): Promise<void> {
    if (reload !== undefined && (await entry.isReloadWanted())) {
      await reload();
    }
    await entry.report({ app, ...(await describe()) });
  }

  async function report(): Promise<void> {
    await Promise.all([addIncrements(), reportEntry().catch(() => undefined)]);
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
