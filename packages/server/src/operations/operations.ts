import { setTimeout as sleep } from 'node:timers/promises';
import type { MetricFamily } from '../metrics/metric-family.ts';
import type { MetricsRegistry } from '../metrics/metrics-registry.ts';

/** The result of a check that reports more than availability. */
export interface CheckResult {
  readonly ready: boolean;
  /** The state that `/ready` shows, without secrets. */
  readonly state: string;
}

/** Resolves if the dependency answers, optionally to a `CheckResult`. Rejects otherwise. */
export type ReadinessCheck = () => Promise<unknown>;

export interface OperationsOptions {
  /** Required dependencies by name. `/ready` reports which one is unavailable. */
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
  /** Shown in the same way, but not required: a fault that every instance shares. */
  readonly peers?: Readonly<Record<string, ReadinessCheck>>;
  readonly metrics: MetricsRegistry;
  /** Further documents for operators and peers: path → JSON. */
  readonly documents?: Readonly<Record<string, () => Promise<unknown>>>;
}

/** What an app answers to its operators, on any transport. */
export interface Operations {
  readiness(): Promise<Readiness>;
  metrics(): Promise<readonly MetricFamily[]>;
  /** Resolves to undefined if there is no such document. */
  document(path: string): Promise<unknown>;
}

export interface Readiness {
  readonly ready: boolean;
  /** The state of each dependency. */
  readonly checks: Readonly<Record<string, string>>;
}

export function createOperations(options: OperationsOptions): Operations {
  const { checks, peers = {}, metrics } = options;
  const documents = new Map(Object.entries(options.documents ?? {}));
  return {
    async readiness() {
      const [needed, shown] = await Promise.all([resultsOf(checks), resultsOf(peers)]);
      const states = [...needed, ...shown].map(([name, { state }]) => [name, state]);
      return {
        ready: needed.every(([, result]) => result.ready),
        checks: Object.fromEntries(states),
      };
    },
    metrics: async () => metrics.families(),
    document: async (path) => documents.get(path)?.(),
  };
}

/**
 * A dependency that does not answer in time counts as unavailable. Kubernetes waits one second for
 * `/ready` by default.
 */
const CHECK_DEADLINE_MILLISECONDS = 700;

async function refuseAfterDeadline(): Promise<never> {
  await sleep(CHECK_DEADLINE_MILLISECONDS, undefined, { ref: false });
  throw new Error('The check took too long.');
}

function resultsOf(
  checks: OperationsOptions['checks'],
): Promise<readonly (readonly [name: string, CheckResult])[]> {
  const results = Object.entries(checks).map(async ([name, check]) => {
    try {
      const result = await Promise.race([check(), refuseAfterDeadline()]);
      return [name, isCheckResult(result) ? result : { ready: true, state: 'ok' }] as const;
    } catch {
      return [name, { ready: false, state: 'unavailable' }] as const;
    }
  });
  return Promise.all(results);
}

function isCheckResult(result: unknown): result is CheckResult {
  const { ready, state } = Object(result) as Partial<Record<keyof CheckResult, unknown>>;
  return typeof ready === 'boolean' && typeof state === 'string';
}
