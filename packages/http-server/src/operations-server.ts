import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ListenOptions, type RunningServer, serve } from './serve.ts';
import { serverLimits } from './server-limits.ts';

/** Resolves when the dependency answers, rejects when it does not. */
export type ReadinessCheck = () => Promise<unknown>;

export interface OperationsOptions extends ListenOptions {
  /** What this app cannot work without, by name. `/ready` says which one is missing. */
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
  /** Further documents that are for operators and peers, not for the public: path → JSON. */
  readonly documents?: Readonly<Record<string, () => Promise<unknown>>>;
}

/** `/live`, `/ready` and the app's own documents, on a port that is not published. */
export function serveOperations(options: OperationsOptions): Promise<RunningServer> {
  return serve(
    (request, response) => {
      void answer(request, options).then(
        (reply) => writeJson(response, reply),
        () => writeJson(response, { status: 503, body: { status: 'unavailable' } }),
      );
    },
    { maximumConnections: serverLimits.operationsMaxConnections, ...options },
  );
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function answer(request: IncomingMessage, options: OperationsOptions): Promise<Reply> {
  const path = request.url?.split('?', 1)[0] ?? '';
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const body = { status: 'method not allowed' };
    return { status: 405, body, headers: { Allow: 'GET, HEAD' } };
  }
  if (path === '/live') {
    return { status: 200, body: { status: 'live' } };
  }
  if (path === '/ready') {
    return readiness(options.checks);
  }
  const documents = new Map(Object.entries(options.documents ?? {}));
  const document = documents.get(path);
  return document === undefined
    ? { status: 404, body: { status: 'not found' } }
    : { status: 200, body: await document() };
}

async function readiness(checks: OperationsOptions['checks']): Promise<Reply> {
  const names = Object.keys(checks);
  const results = await Promise.allSettled(names.map(async (name) => checks[name]?.()));
  const states = Object.fromEntries(
    names.map((name, i) => [name, results[i]?.status === 'fulfilled' ? 'ok' : 'unavailable']),
  );
  const ready = results.every((result) => result.status === 'fulfilled');
  return {
    status: ready ? 200 : 503,
    body: { status: ready ? 'ready' : 'unavailable', checks: states },
  };
}

function writeJson(response: ServerResponse, { status, body, headers }: Reply): void {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...headers,
  });
  response.end(JSON.stringify(body));
}
