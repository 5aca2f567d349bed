/**
 * Connections to one service. Nothing is sent twice except a GET or HEAD that met a closing
 * connection (decision 5).
 *
 *   upstream ─┬▶ connection-pool ─▶ connection ─▶ reply-reader   (ordinary requests)
 *             ├▶ streams, through undici                         (streams, uploads, WebSockets)
 *             └▶ circuit-breaker
 *   Both report to a call, which is one exchange and the body of its reply.
 */
import { createRequire } from 'node:module';
import type { Readable } from 'node:stream';
import { ApiError, type ErrorCode, serviceUnavailable } from '@gatehouse/errors';
import type { Dispatcher, Pool } from 'undici';
import { type RunningCalls, UpstreamCall } from './call.ts';
import { type CircuitState, createCircuitBreaker } from './circuit-breaker.ts';
import type { OutgoingRequest } from './connection.ts';
import { ConnectionPool, type ConnectionPoolOptions } from './connection-pool.ts';

/** A body that still arrives from the caller. */
export interface BodyStream {
  readonly stream: Readable;
  /** The announced length. Undefined: the body is sent in chunks. */
  readonly length: number | undefined;
}

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Name, value, name, value, … */
  readonly headers: readonly string[];
  readonly body: Uint8Array | BodyStream | undefined;
  readonly timeoutMilliseconds: number;
  /** The deadline ends with the head. The body may last as long as data keeps arriving. */
  readonly streaming: boolean;
}

type UpgradeRequest = Pick<UpstreamRequest, 'target' | 'headers' | 'timeoutMilliseconds'>;

export type Upstream = ReturnType<typeof createUpstream>;

/** Short, so that a service that cannot be reached is a 502 within a second. */
const CONNECT_TIMEOUT_MILLISECONDS = 900;
/** A deadline ends a call up to 50 ms late, never early. One timer for each call would cost more. */
const SWEEP_MILLISECONDS = 50;

export interface UpstreamAddress {
  /** Base URL. */
  readonly url: string;
  /** Path of a Unix socket to connect to instead of the host and port of the URL. */
  readonly socketPath?: string | undefined;
  /** A path that the service answers at once while it works (see circuit-breaker). */
  readonly health?: string | undefined;
}

interface UpstreamOptions extends UpstreamAddress {
  readonly connections: number;
  /** Separate connections for streams and large bodies, so that ordinary requests keep theirs. */
  readonly streamConnections: number;
  /** Called when the circuit opens and when it closes. */
  readonly onCircuitChange: (state: CircuitState) => void;
  /** Maximum number of requests in flight or waiting for a connection. More get 503. */
  readonly maximumRequests: number;
}

export function createUpstream(options: UpstreamOptions) {
  const { socketPath, connections, streamConnections, health } = options;
  const url = new URL(options.url);
  const prefix = url.pathname === '/' ? '' : url.pathname;
  const address = { url, socketPath, connectTimeoutMilliseconds: CONNECT_TIMEOUT_MILLISECONDS };
  const requests = new ConnectionPool({ ...address, connections });
  const streams = openStreams({ ...address, connections: streamConnections });
  // The caller decides how long a stream lasts, and a body that was not read ahead.
  const running = { requests: [] as RunningCalls, streams: [] as RunningCalls };
  const limits = { requests: options.maximumRequests, streams: streamConnections };
  const calls = () => [...running.requests, ...running.streams];
  const breaker = createCircuitBreaker({
    isHealthy: health === undefined ? undefined : () => streams.isHealthy(prefix + health),
    waiting: () => calls().filter((call) => !call.isAnswered),
    onChange: options.onCircuitChange,
  });
  const sweeper = setInterval(() => {
    const now = performance.now();
    for (const call of calls().filter(({ expiresAt }) => expiresAt <= now)) {
      call.cancel(new ApiError('timeout'));
    }
  }, SWEEP_MILLISECONDS).unref();

  function start(
    pool: 'requests' | 'streams',
    request: OutgoingRequest,
    timing: Pick<UpstreamRequest, 'timeoutMilliseconds' | 'streaming'>,
  ): UpstreamCall {
    breaker.assertClosed();
    if (pool === 'streams') {
      streams.open();
    }
    const { [pool]: calls } = running;
    if (calls.length >= limits[pool]) {
      const cause = new Error('Too many requests are waiting for the upstream.');
      throw serviceUnavailable(cause, 'upstream_overloaded');
    }
    return new UpstreamCall(request, timing, calls, breaker.noteActivity);
  }

  return {
    url: options.url,
    get circuit(): CircuitState {
      return breaker.state;
    },
    /** The reply rejects with an ApiError: `bad_gateway`, `timeout` or `service_unavailable`. */
    send({ method, target, headers, body, ...timing }: UpstreamRequest): UpstreamCall {
      const upload = body instanceof Uint8Array ? undefined : body;
      const buffered = body instanceof Uint8Array ? body : undefined;
      const request = { method, path: prefix + target, headers, body: buffered };
      const isStreamed = timing.streaming || upload !== undefined;
      const call = start(isStreamed ? 'streams' : 'requests', request, timing);
      if (isStreamed) {
        streams.send(call, upload);
      } else {
        requests.send(call);
      }
      return call;
    },
    /** Opens a WebSocket. Rejects with an ApiError unless the service agrees. */
    async upgrade({ target, headers, timeoutMilliseconds }: UpgradeRequest) {
      const request = { method: 'GET', path: prefix + target, headers, body: undefined };
      const call = start('streams', request, { timeoutMilliseconds, streaming: true });
      streams.send(call, undefined, 'websocket');
      const { status, upgraded } = await call.reply;
      if (upgraded === undefined) {
        const error = upgradeRefusal(status);
        call.cancel(error);
        throw error;
      }
      return upgraded;
    },
    /** The load of its connections now: of ordinary requests, and of streams. */
    load: () => ({ requests: requests.load, streams: streams.load() }),
    /** Called after the last request. */
    async close(): Promise<void> {
      clearInterval(sweeper);
      breaker.close();
      requests.close();
      await streams.close();
    },
  };
}

/** Status of the service instead of 101 → error code. Every other status is `bad_gateway`. */
const upgradeRefusals: Readonly<Record<number, ErrorCode>> = {
  400: 'illegal_argument',
  403: 'access_denied',
  404: 'not_found',
  426: 'illegal_argument',
  429: 'too_many_requests',
  503: 'service_unavailable',
};

function upgradeRefusal(status: number): ApiError {
  const cause = new Error(`The service answered ${status} to an upgrade.`);
  const code = upgradeRefusals[status] ?? 'bad_gateway';
  return new ApiError(code, { cause, reason: 'upstream_refused' });
}

const PROBE_MILLISECONDS = 2500;

/**
 * Streams, uploads and WebSockets through undici. Each gets its own connection, so that no part of a
 * reply can reach another caller, and a balancer chooses a server for each.
 */
function openStreams({ url, socketPath, connections, ...options }: ConnectionPoolOptions) {
  let pool: Pool | undefined;
  /** Loads undici with the first stream, because it needs 6 MB. */
  function open(): Pool {
    const undici: typeof import('undici') = createRequire(import.meta.url)('undici');
    pool ??= new undici.Pool(url.origin, {
      ...(socketPath !== undefined && { socketPath }),
      // One is for health probes: all others may be taken.
      connections: connections + 1,
      connectTimeout: options.connectTimeoutMilliseconds,
      // `Connection: close`
      pipelining: 0,
      autoSelectFamily: true,
      allowH2: false,
      // The deadlines of the calls stand in for undici's own.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return pool;
  }
  return {
    open,
    send(call: UpstreamCall, upload: BodyStream | undefined, upgrade?: 'websocket'): void {
      const { path, headers, body } = call.request;
      const method = call.request.method as Dispatcher.HttpMethod;
      const length = upload?.length === undefined ? [] : ['content-length', String(upload.length)];
      const options = { path, method, headers: [...headers, ...length], upgrade: upgrade ?? null };
      open().dispatch({ ...options, body: upload?.stream ?? body ?? null }, call);
    },
    /** Whether a status below 500 arrives in time. 401 and 404 also show life. */
    async isHealthy(path: string): Promise<boolean> {
      try {
        const { statusCode, body } = await open().request({
          method: 'GET',
          path,
          headers: { 'user-agent': 'gatehouse-gateway', accept: '*/*' },
          signal: AbortSignal.timeout(PROBE_MILLISECONDS),
        });
        body.on('error', () => {}).destroy();
        return statusCode < 500;
      } catch {
        return false;
      }
    },
    load: () => pool?.stats ?? { connected: 0, free: 0, running: 0, pending: 0 },
    close: () => pool?.destroy(),
  };
}
