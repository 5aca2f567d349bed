/**
 * Connections to one service. Nothing is sent twice except a GET or HEAD that met a closing
 * connection (decision 5).
 *
 *   upstream ─┬▶ connection-pool ─▶ connection ─▶ reply-reader   (ordinary requests)
 *             ├▶ streams, through undici                         (streams, uploads, WebSockets)
 *             └▶ circuit-breaker
 *   Both report to a call, which is one exchange and the body of its reply.
 */
import { ApiError, type ErrorCode, serviceUnavailable } from '@gatehouse/errors';
import {
  type BodyStream,
  type CallRequest,
  type UpgradedConnection,
  UpstreamCall,
} from './call.ts';
import { CircuitBreaker, type CircuitState } from './circuit-breaker.ts';
import { ConnectionPool } from './connection-pool.ts';
import { openStreams } from './streams.ts';

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

export function createUpstream(options: {
  /** Base URL. */
  readonly url: string;
  /** Path of a Unix socket to connect to instead of the host and port of the URL. */
  readonly socketPath?: string | undefined;
  readonly connections: number;
  /** Separate connections for streams and large bodies, so that ordinary requests keep theirs. */
  readonly streamConnections: number;
  /** A path that the service answers at once while it works. */
  readonly health: string | undefined;
  /** Called when the circuit opens and when it closes. */
  readonly onCircuitChange: (state: CircuitState) => void;
  /** Maximum number of requests in flight or waiting for a connection. More get 503. */
  readonly maximumRequests: number;
}) {
  const { socketPath, streamConnections, health } = options;
  const url = new URL(options.url);
  const prefix = url.pathname === '/' ? '' : url.pathname;
  const address = { url, socketPath, connectTimeoutMilliseconds: CONNECT_TIMEOUT_MILLISECONDS };
  const requests = new ConnectionPool({ ...address, connections: options.connections });
  const streams = openStreams({ ...address, connections: streamConnections });
  const running = new RunningCalls();
  const breaker = new CircuitBreaker({
    isHealthy: health === undefined ? undefined : () => streams.isHealthy(prefix + health),
    waiting: () => running.all.filter((call) => !call.isAnswered),
    onChange: options.onCircuitChange,
  });
  // The caller decides how long a stream lasts, and a body that was not read ahead.
  const limits = { requests: options.maximumRequests, streams: streamConnections };
  const inFlight = { requests: 0, streams: 0 };

  function start(
    pool: 'requests' | 'streams',
    request: CallRequest,
    timeoutMilliseconds: number,
  ): UpstreamCall {
    breaker.assertClosed();
    if (inFlight[pool] >= limits[pool]) {
      const cause = new Error('Too many requests are waiting for the upstream.');
      throw serviceUnavailable(cause, 'upstream_overloaded');
    }
    inFlight[pool] += 1;
    const call = new UpstreamCall(request, breaker, (settled) => {
      running.end(settled);
      inFlight[pool] -= 1;
    });
    breaker.begin(call);
    running.start(call, timeoutMilliseconds);
    return call;
  }

  return {
    url: options.url,
    get circuit(): CircuitState {
      return breaker.state;
    },
    /** The reply rejects with an ApiError: `bad_gateway`, `timeout` or `service_unavailable`. */
    send({ target, body: given, streaming, ...asked }: UpstreamRequest): UpstreamCall {
      const isBuffered = given === undefined || given instanceof Uint8Array;
      const body = isBuffered ? given : undefined;
      const upload = isBuffered ? undefined : given;
      const pool = streaming || !isBuffered ? 'streams' : 'requests';
      const { method, headers, timeoutMilliseconds } = asked;
      const path = prefix + target;
      const request = { method, path, headers, body, upload, isStreaming: streaming };
      const call = start(pool, request, timeoutMilliseconds);
      if (pool === 'streams') {
        streams.send(call);
      } else {
        requests.send(call);
      }
      return call;
    },
    /** Opens a WebSocket. Rejects with an ApiError unless the service agrees. */
    async upgrade(asked: UpgradeRequest): Promise<UpgradedConnection> {
      const { target, headers, timeoutMilliseconds } = asked;
      const path = prefix + target;
      const request = { method: 'GET', path, headers, body: undefined, upload: undefined };
      const call = start('streams', { ...request, isStreaming: true }, timeoutMilliseconds);
      streams.send(call, 'websocket');
      return upgradedConnection(call);
    },
    /** The load of its connections now: of ordinary requests, and of streams. */
    load: () => ({ requests: requests.load, streams: streams.load() }),
    async close(): Promise<void> {
      breaker.close();
      await Promise.all([requests.close(), streams.close()]);
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

async function upgradedConnection(call: UpstreamCall): Promise<UpgradedConnection> {
  const { status, upgraded } = await call.reply;
  if (upgraded === undefined) {
    const cause = new Error(`The service answered ${status} to an upgrade.`);
    const code = upgradeRefusals[status] ?? 'bad_gateway';
    const error = new ApiError(code, { cause, reason: 'upstream_refused' });
    call.cancel(error);
    throw error;
  }
  return upgraded;
}

const SWEEP_MILLISECONDS = 25;

/**
 * The running calls. One timer checks all their deadlines: one timer per request would cost more
 * (bench/gateway). A deadline ends a call up to 25 ms late, never early.
 */
class RunningCalls {
  readonly all: UpstreamCall[] = [];
  #sweeper: NodeJS.Timeout | undefined;

  start(call: UpstreamCall, milliseconds: number): void {
    call.expiresAt = performance.now() + milliseconds;
    call.slot = this.all.push(call) - 1;
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MILLISECONDS);
  }

  end(call: UpstreamCall): void {
    const last = this.all.pop();
    if (last !== undefined && last !== call) {
      this.all[call.slot] = last;
      last.slot = call.slot;
    }
  }

  #sweep(): void {
    const now = performance.now();
    for (const call of this.all.filter(({ expiresAt }) => expiresAt <= now)) {
      call.expire();
    }
    if (this.all.length === 0) {
      clearInterval(this.#sweeper);
      this.#sweeper = undefined;
    }
  }
}
