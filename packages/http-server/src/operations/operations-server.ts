import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MetricsRegistry } from '../metrics/metrics-registry.ts';
import { type ListenOptions, type RunningServer, serve } from '../server/serve.ts';
import { serverLimits } from '../server/server-limits.ts';

/** The result of a check that reports more than availability. */
export interface CheckResult {
  readonly ready: boolean;
  /** The state that `/ready` shows, without secrets. */
  readonly state: string;
}

/** Resolves if the dependency answers, optionally to a `CheckResult`. Rejects otherwise. */
export type ReadinessCheck = () => Promise<unknown>;

export interface OperationsOptions extends Pick<ListenOptions, 'host' | 'port'> {
  /** Required dependencies by name. `/ready` reports which one is unavailable. */
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
  /** Shown in the same way, but not required: another app that may start later. */
  readonly peers?: Readonly<Record<string, ReadinessCheck>>;
  readonly metrics: MetricsRegistry;
  /** Further documents for operators and peers: path → JSON. */
  readonly documents?: Readonly<Record<string, () => Promise<unknown>>>;
}

export interface OperationsServer extends RunningServer {
  /** Makes `/ready` fail. This is the first step of a shutdown. */
  startDraining(): void;
}

/** Serves `/live`, `/ready`, `/metrics` and documents of the app on a private port. */
export async function serveOperations(options: OperationsOptions): Promise<OperationsServer> {
  const { host, port, metrics } = options;
  let draining = false;
  const server = await serve(
    (request, response) => {
      const isRead = request.method === 'GET' || request.method === 'HEAD';
      if (isRead && pathOf(request) === '/metrics') {
        response.writeHead(200, { 'Content-Type': METRICS_TYPE, 'Cache-Control': 'no-store' });
        response.end(metrics.text());
        return;
      }
      void answer(request, options, draining).then(
        (reply) => writeJson(response, reply),
        () => writeJson(response, { status: 503, body: { status: 'unavailable' } }),
      );
    },
    { host, port, maximumConnections: serverLimits.operationsMaxConnections },
  );
  return {
    ...server,
    startDraining() {
      draining = true;
    },
  };
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '';
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function answer(
  request: IncomingMessage,
  options: OperationsOptions,
  draining: boolean,
): Promise<Reply> {
  const path = pathOf(request);
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const body = { status: 'method not allowed' };
    return { status: 405, body, headers: { Allow: 'GET, HEAD' } };
  }
  if (path === '/live') {
    return { status: 200, body: { status: 'live' } };
  }
  if (path === '/ready') {
    return draining ? { status: 503, body: { status: 'draining' } } : readiness(options);
  }
  const documents = new Map(Object.entries(options.documents ?? {}));
  const document = documents.get(path);
  return document === undefined
    ? { status: 404, body: { status: 'not found' } }
    : { status: 200, body: await document() };
}

async function readiness({ checks, peers = {} }: OperationsOptions): Promise<Reply> {
  const [needed, shown] = await Promise.all([resultsOf(checks), resultsOf(peers)]);
  const ready = needed.every(([, result]) => result.ready);
  const states = [...needed, ...shown].map(([name, { state }]) => [name, state]);
  return {
    status: ready ? 200 : 503,
    body: { status: ready ? 'ready' : 'unavailable', checks: Object.fromEntries(states) },
  };
}

/** A dependency that does not answer in time counts as unavailable, so `/ready` answers quickly. */
const CHECK_DEADLINE_MILLISECONDS = 2000;

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

function writeJson(response: ServerResponse, { status, body, headers }: Reply): void {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...headers,
  });
  response.end(JSON.stringify(body));
}
