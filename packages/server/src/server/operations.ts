import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type MetricFamily, metricsText } from '../telemetry/metric-families.ts';
import type { MetricsRegistry } from '../telemetry/metrics-registry.ts';
import type { ListenAddress } from './listen.ts';
import { serve } from './serve.ts';
import { serverLimits } from './server-limits.ts';

/** Serves `/live`, `/ready`, `/metrics` and documents of the app on a private port. */
export async function serveOperations(
  operations: Operations,
  { host, port }: Pick<ListenAddress, 'host' | 'port'>,
) {
  let draining = false;
  const server = await serve(
    (request, response) => {
      void answer(request, operations, draining).then(
        (reply) => writeReply(response, reply),
        () => writeReply(response, { status: 503, body: { status: 'unavailable' } }),
      );
    },
    { host, port, maximumConnections: serverLimits.operationsMaxConnections },
  );
  return {
    ...server,
    /** Makes `/ready` fail. This is the first step of a shutdown. */
    startDraining(): void {
      draining = true;
    },
  };
}

interface Reply {
  readonly status: number;
  /** Text, or a value that becomes JSON. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function answer(
  { method, url = '' }: IncomingMessage,
  operations: Operations,
  draining: boolean,
): Promise<Reply> {
  if (method !== 'GET' && method !== 'HEAD') {
    const body = { status: 'method not allowed' };
    return { status: 405, body, headers: { Allow: 'GET, HEAD' } };
  }
  const path = url.split('?', 1)[0] ?? '';
  switch (path) {
    case '/live':
      return { status: 200, body: { status: 'live' } };
    case '/metrics': {
      const headers = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' };
      return { status: 200, body: metricsText(await operations.metrics()), headers };
    }
    case '/ready': {
      if (draining) {
        return { status: 503, body: { status: 'draining' } };
      }
      const { ready, checks } = await operations.readiness();
      const body = { status: ready ? 'ready' : 'unavailable', checks };
      return { status: ready ? 200 : 503, body };
    }
    default: {
      const body = await operations.document(path);
      const missing = { status: 404, body: { status: 'not found' } };
      return body === undefined ? missing : { status: 200, body };
    }
  }
}

function writeReply(response: ServerResponse, { status, body, headers }: Reply): void {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...headers,
  });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** The result of a check that reports more than availability. */
interface CheckResult {
  readonly ready: boolean;
  /** The state that `/ready` shows, without secrets. */
  readonly state: string;
}

/** Resolves if the dependency answers, optionally to a `CheckResult`. Rejects otherwise. */
type ReadinessCheck = () => Promise<unknown>;

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
  /** With the state of each dependency. */
  readiness(): Promise<{ ready: boolean; checks: Readonly<Record<string, string>> }>;
  metrics(): Promise<readonly MetricFamily[]>;
  /** Resolves to undefined if there is no such document. */
  document(path: string): Promise<unknown>;
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
