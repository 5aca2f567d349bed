import { serviceUnavailable } from '@gatehouse/errors';
import type { RequestDependent } from '@gatehouse/server';
import { CircuitBreaker, type CircuitState } from './circuit-breaker.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { Deadlines } from './deadlines.ts';
import { createHealthProbe } from './health-probe.ts';
import type { PoolLoad } from './http1/pool-load.ts';
import { createUnreadReplies, type UnreadReplies } from './unread-replies.ts';
import { UpgradeCall, type UpgradedConnection } from './upgrade-call.ts';
import { UpstreamCall, type UpstreamCallEvents, type UpstreamReply } from './upstream-call.ts';
import { openPools, type PoolOptions } from './upstream-pools.ts';
import { isStream, type UpstreamRequest } from './upstream-request.ts';

export interface UpstreamExchange extends RequestDependent {
  /** Rejects with an ApiError: `bad_gateway`, `timeout` or `service_unavailable`. */
  readonly reply: Promise<UpstreamReply>;
  /** Ends the exchange early. Does nothing after its end. */
  cancel(reason: () => Error): void;
}

export interface Upstream {
  /** Its base URL. */
  readonly url: string;
  send(request: UpstreamRequest): UpstreamExchange;
  /** Opens a WebSocket. Rejects with an ApiError unless the service agrees. */
  upgrade(request: Omit<UpstreamRequest, 'body' | 'streaming'>): Promise<UpgradedConnection>;
  readonly circuit: CircuitState;
  /** The load of its connections now: of ordinary requests, and of streams. */
  load(): Readonly<Record<'requests' | 'streams', PoolLoad>>;
  close(): Promise<void>;
}

export interface UpstreamOptions extends PoolOptions {
  /** A path that the service answers at once while it works. */
  readonly health: string | undefined;
  /** Called when the circuit opens and when it closes. */
  readonly onCircuitChange: (state: CircuitState) => void;
  /** Maximum number of requests in flight or waiting for a connection. More get 503. */
  readonly maximumRequests: number;
}

const callerDoesNotRead = () =>
  serviceUnavailable(
    new Error('The caller did not read while others waited for a connection.'),
    'caller_too_slow',
  );

/** A stream that sends nothing for so long has ended. Services keep streams alive with comments. */
const STREAM_IDLE_MILLISECONDS = 5 * 60_000;

/**
 * Connections to one service. Nothing is sent twice except a GET or HEAD that met a closing
 * connection (decision 5).
 *
 *   upstream ─▶ http1/ (connections) ─▶ upstream-call (one exchange) ─▶ upstream-body (its reply)
 *     ├ concurrency-limit, deadlines, unread-replies      circuit-breaker ── health-probe
 *     ├ upstream-pools (ordinary requests, streams, WebSockets)
 *     └ upgrade-call (WebSockets, through undici)
 */
export function createUpstream(options: UpstreamOptions): Upstream {
  const pools = openPools(options);
  const deadlines = new Deadlines<UpstreamCall>();
  const breaker = openBreaker(options, deadlines);
  const held = createUnreadReplies<UpstreamCall>({
    waiting: pools.waiting,
    cancel: (call) => call.cancel(callerDoesNotRead),
  });
  const requestLimit = new ConcurrencyLimit(options.maximumRequests);
  // The caller decides how long a stream lasts, and a body that was not read ahead.
  const streamLimit = new ConcurrencyLimit(options.streamConnections);
  const { requestEvents, uploadEvents, streamEvents } = callEvents({
    deadlines,
    breaker,
    held,
    requestLimit,
    streamLimit,
  });

  function openCall({ streaming, body }: UpstreamRequest): UpstreamCall {
    if (streaming || isStream(body)) {
      streamLimit.enter();
      return new UpstreamCall(streaming ? streamEvents : uploadEvents);
    }
    requestLimit.enter();
    return new UpstreamCall(requestEvents);
  }

  return {
    url: options.url,
    get circuit() {
      return breaker.state;
    },
    send(request) {
      breaker.assertClosed();
      const call = openCall(request);
      breaker.begin(call);
      deadlines.start(call, request.timeoutMilliseconds);
      pools.send(request, call);
      return call;
    },
    async upgrade(request) {
      breaker.assertClosed();
      streamLimit.enter();
      const call = new UpgradeCall({
        answered: () => breaker.noteActivity(),
        unanswered: (unanswered) => breaker.timedOut(unanswered),
        settled: () => streamLimit.leave(),
      });
      breaker.begin(call);
      const deadline = setTimeout(() => call.expire(), request.timeoutMilliseconds);
      pools.upgrade(request, call);
      return call.upgraded.finally(() => clearTimeout(deadline));
    },
    load: pools.load,
    close() {
      breaker.close();
      return pools.close();
    },
  };
}

/** Reports the progress of a call to the deadlines, the breaker and the limits. */
function callEvents(watchers: {
  readonly deadlines: Deadlines<UpstreamCall>;
  readonly breaker: CircuitBreaker;
  readonly held: UnreadReplies<UpstreamCall>;
  readonly requestLimit: ConcurrencyLimit;
  readonly streamLimit: ConcurrencyLimit;
}) {
  const { deadlines, breaker, held } = watchers;
  const end = (call: UpstreamCall) => {
    deadlines.end(call);
    if (call.isUnanswered) {
      breaker.timedOut(call);
    }
  };
  const noteActivity = () => breaker.noteActivity();
  const requestEvents: UpstreamCallEvents = {
    answered: noteActivity,
    received: noteActivity,
    held: (call, isHeld) => (isHeld ? held.hold(call) : held.release(call)),
    settled(call) {
      end(call);
      held.release(call);
      watchers.requestLimit.leave();
    },
  };
  const uploadEvents: UpstreamCallEvents = {
    answered: noteActivity,
    received: noteActivity,
    held: () => {},
    settled(call) {
      end(call);
      watchers.streamLimit.leave();
    },
  };
  const extendIdleTime = (call: UpstreamCall) => deadlines.extend(call, STREAM_IDLE_MILLISECONDS);
  const noteStreamActivity = (call: UpstreamCall) => {
    breaker.noteActivity();
    extendIdleTime(call);
  };
  const streamEvents: UpstreamCallEvents = {
    ...uploadEvents,
    answered: noteStreamActivity,
    received: noteStreamActivity,
    // While the caller does not read, the service is not silent. The server cuts slow readers.
    held: (call, isHeld) =>
      isHeld ? deadlines.extend(call, Number.POSITIVE_INFINITY) : extendIdleTime(call),
  };
  return { requestEvents, uploadEvents, streamEvents };
}

function openBreaker(
  { url, socketPath, health, onCircuitChange }: UpstreamOptions,
  deadlines: Deadlines<UpstreamCall>,
): CircuitBreaker {
  const base = new URL(url);
  const prefix = base.pathname === '/' ? '' : base.pathname;
  const waiting = () => deadlines.running.filter((call) => !call.isAnswered);
  return new CircuitBreaker({
    health:
      health === undefined
        ? undefined
        : createHealthProbe({ url: base, socketPath }, prefix + health),
    isWaiting: () => waiting().length > 0,
    endWaiting: (reason) => {
      for (const call of waiting()) {
        call.cancel(reason);
      }
    },
    onChange: onCircuitChange,
  });
}
