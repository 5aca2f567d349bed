/**
 * Connections to one service. Nothing is sent twice except a GET or HEAD that met a closing
 * connection (decision 5).
 *
 *   upstream ─┬▶ connection-pool ─▶ connection ─▶ reply-reader   (ordinary requests)
 *             ├▶ streams, through undici                         (streams, uploads, WebSockets)
 *             └▶ circuit-breaker
 *   Both report to a call, which is one exchange and the body of its reply.
 */
import type { Readable } from 'node:stream';
import { ApiError, type ErrorCode, serviceUnavailable } from '@gatehouse/errors';
import type { RequestDependent } from '@gatehouse/server';
import {
  type BodyStream,
  type CallWatcher,
  type UpgradedConnection,
  UpstreamCall,
  type UpstreamReply,
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

export interface Upstream {
  /** Its base URL. */
  readonly url: string;
  /** The reply rejects with an ApiError: `bad_gateway`, `timeout` or `service_unavailable`. */
  send(request: UpstreamRequest): RequestDependent & { readonly reply: Promise<UpstreamReply> };
  /** Opens a WebSocket. Rejects with an ApiError unless the service agrees. */
  upgrade(
    request: Pick<UpstreamRequest, 'target' | 'headers' | 'timeoutMilliseconds'>,
  ): Promise<UpgradedConnection>;
  readonly circuit: CircuitState;
  /** The load of its connections now: of ordinary requests, and of streams. */
  load(): Readonly<Record<PoolName, PoolLoad>>;
  close(): Promise<void>;
}

type PoolName = 'requests' | 'streams';

export interface PoolLoad {
  readonly running: number;
  /** Waiting for a connection. */
  readonly pending: number;
  readonly connected: number;
  /** Of the connected ones. */
  readonly free: number;
}

export interface UpstreamOptions {
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
}

/** Short, so that a service that cannot be reached is a 502 within a second. */
const CONNECT_TIMEOUT_MILLISECONDS = 900;
/** A stream that sends nothing for so long has ended. Services keep streams alive with comments. */
const STREAM_IDLE_MILLISECONDS = 5 * 60_000;

/** Status of the service instead of 101 → error code. Every other status is `bad_gateway`. */
const upgradeRefusals: Readonly<Record<number, ErrorCode>> = {
  400: 'illegal_argument',
  403: 'access_denied',
  404: 'not_found',
  426: 'illegal_argument',
  429: 'too_many_requests',
  503: 'service_unavailable',
};

export function createUpstream(options: UpstreamOptions): Upstream {
  const { socketPath, streamConnections, health } = options;
  const url = new URL(options.url);
  const prefix = url.pathname === '/' ? '' : url.pathname;
  const address = { url, socketPath, connectTimeoutMilliseconds: CONNECT_TIMEOUT_MILLISECONDS };
  const requests = new ConnectionPool({ ...address, connections: options.connections });
  const streams = openStreams({ ...address, connections: streamConnections });
  const running = new RunningCalls();
  const breaker = openBreaker(options, running, () => streams.isHealthy(prefix + health));
  // The caller decides how long a stream lasts, and a body that was not read ahead.
  const limits = { requests: options.maximumRequests, streams: streamConnections };
  const inFlight = { requests: 0, streams: 0 };

  const watcherOf = (pool: PoolName) =>
    createWatcher(breaker, (call) => {
      running.end(call);
      inFlight[pool] -= 1;
    });
  const watchers = { requests: watcherOf('requests'), streams: watcherOf('streams') };

  function start(
    pool: PoolName,
    timeoutMilliseconds: number,
    isStreaming: boolean,
    upload?: Readable,
  ): UpstreamCall {
    breaker.assertClosed();
    if (inFlight[pool] >= limits[pool]) {
      const cause = new Error('Too many requests are waiting for the upstream.');
      throw serviceUnavailable(cause, 'upstream_overloaded');
    }
    inFlight[pool] += 1;
    const call = new UpstreamCall(watchers[pool], isStreaming, upload);
    breaker.begin(call);
    running.start(call, timeoutMilliseconds);
    return call;
  }

  return {
    url: options.url,
    get circuit() {
      return breaker.state;
    },
    send({ method, target, headers, body, timeoutMilliseconds, streaming }) {
      const path = prefix + target;
      const upload = body === undefined || body instanceof Uint8Array ? undefined : body;
      if (streaming || upload !== undefined) {
        const call = start('streams', timeoutMilliseconds, streaming, upload?.stream);
        streams.send({ method, path, headers, body }, call);
        return call;
      }
      const call = start('requests', timeoutMilliseconds, false);
      requests.dispatch({ method, path, headers, body: body as Uint8Array | undefined }, call);
      return call;
    },
    async upgrade({ target, headers, timeoutMilliseconds }) {
      const call = start('streams', timeoutMilliseconds, true);
      streams.upgrade(prefix + target, headers, call);
      const { status, upgraded } = await call.reply;
      if (upgraded === undefined) {
        const cause = new Error(`The service answered ${status} to an upgrade.`);
        const code = upgradeRefusals[status] ?? 'bad_gateway';
        const error = new ApiError(code, { cause, reason: 'upstream_refused' });
        call.cancel(error);
        throw error;
      }
      return upgraded;
    },
    load: () => ({ requests: requests.load, streams: streams.load() }),
    async close() {
      breaker.close();
      await Promise.all([requests.close(), streams.close()]);
    },
  };
}

function openBreaker(
  { health, onCircuitChange }: UpstreamOptions,
  running: RunningCalls,
  isHealthy: () => Promise<boolean>,
): CircuitBreaker {
  const waiting = () => running.all.filter((call) => !call.isAnswered);
  return new CircuitBreaker({
    isHealthy: health === undefined ? undefined : isHealthy,
    isWaiting: () => waiting().length > 0,
    endWaiting: (reason) => {
      for (const call of waiting()) {
        call.cancel(reason());
      }
    },
    onChange: onCircuitChange,
  });
}

function createWatcher(
  breaker: CircuitBreaker,
  settled: (call: UpstreamCall) => void,
): CallWatcher {
  const extend = (call: UpstreamCall) => {
    if (call.isStreaming) {
      call.expiresAt = performance.now() + STREAM_IDLE_MILLISECONDS;
    }
  };
  return {
    active(call) {
      breaker.noteActivity();
      extend(call);
    },
    held(call, isHeld) {
      extend(call);
      // While the caller does not read, the service is not silent. The server cuts slow readers.
      if (isHeld && call.isStreaming) {
        call.expiresAt = Number.POSITIVE_INFINITY;
      }
    },
    settled(call) {
      settled(call);
      if (call.isUnanswered) {
        breaker.timedOut(call);
      }
    },
  };
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
