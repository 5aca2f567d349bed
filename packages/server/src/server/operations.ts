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
      answer(request, response, operations, draining).catch(() =>
        reply(response, 503, { status: 'unavailable' }),
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

async function answer(
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  operations: Operations,
  draining: boolean,
): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') {
    reply(response, 405, { status: 'method not allowed' }, { Allow: 'GET, HEAD' });
    return;
  }
  const path = url.split('?', 1)[0] ?? '';
  if (path === '/live') {
    reply(response, 200, { status: 'live' });
  } else if (path === '/metrics') {
    const type = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' };
    reply(response, 200, metricsText(await operations.metrics()), type);
  } else if (path !== '/ready') {
    const document = await operations.document(path);
    reply(response, document ? 200 : 404, document ?? { status: 'not found' });
  } else if (draining) {
    reply(response, 503, { status: 'draining' });
  } else {
    const { ready, checks } = await operations.readiness();
    reply(response, ready ? 200 : 503, { status: ready ? 'ready' : 'unavailable', checks });
  }
}

/** @param body text, or a value that becomes JSON */
function reply(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...headers,
  });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/**
 * Resolves if the dependency answers. Rejects otherwise. A check that knows more resolves to
 * `{ ready, state }`, the state that `/ready` shows, without secrets.
 */
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
      const states = [...needed, ...shown].map(({ name, state }) => [name, state]);
      return { ready: needed.every(({ ready }) => ready), checks: Object.fromEntries(states) };
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

function resultsOf(checks: OperationsOptions['checks']) {
  const results = Object.entries(checks).map(async ([name, check]) => {
    try {
      const result = await Promise.race([check(), refuseAfterDeadline()]);
      return { name, ready: true, state: 'ok', ...Object(result) };
    } catch {
      return { name, ready: false, state: 'unavailable' };
    }
  });
  return Promise.all(results);
}
