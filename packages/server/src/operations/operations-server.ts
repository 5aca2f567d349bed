import type { IncomingMessage, ServerResponse } from 'node:http';
import { metricsText } from '../metrics/metric-family.ts';
import { type ListenOptions, type RunningServer, serve } from '../server/serve.ts';
import { serverLimits } from '../server/server-limits.ts';
import type { Operations } from './operations.ts';

export interface OperationsServer extends RunningServer {
  /** Makes `/ready` fail. This is the first step of a shutdown. */
  startDraining(): void;
}

/** Serves `/live`, `/ready`, `/metrics` and documents of the app on a private port. */
export async function serveOperations(
  operations: Operations,
  { host, port }: Pick<ListenOptions, 'host' | 'port'>,
): Promise<OperationsServer> {
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
    startDraining() {
      draining = true;
    },
  };
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

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
      const body = metricsText(await operations.metrics());
      return { status: 200, body, headers: { 'Content-Type': METRICS_TYPE } };
    }
    case '/ready':
      return draining ? { status: 503, body: { status: 'draining' } } : readiness(operations);
    default: {
      const body = await operations.document(path);
      return body === undefined
        ? { status: 404, body: { status: 'not found' } }
        : { status: 200, body };
    }
  }
}

async function readiness(operations: Operations): Promise<Reply> {
  const { ready, checks } = await operations.readiness();
  const status = ready ? 'ready' : 'unavailable';
  return { status: ready ? 200 : 503, body: { status, checks } };
}

function writeReply(response: ServerResponse, { status, body, headers }: Reply): void {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...headers,
  });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
