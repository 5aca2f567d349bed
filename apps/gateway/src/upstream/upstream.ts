import { serviceUnavailable } from '@gatehouse/api-envelope';
import type { RequestDependent } from '@gatehouse/http-server';
import { Pool } from 'undici';
import { CircuitBreaker, type CircuitState } from './circuit-breaker.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { Deadlines } from './deadlines.ts';
import { createHealthProbe } from './health-probe.ts';
import { ConnectionPool } from './http1/connection-pool.ts';
import type { BodyStream } from './http1/outgoing-request.ts';
import { addLoads, type PoolLoad } from './http1/pool-load.ts';
import { createUnreadReplies, type UnreadReplies } from './unread-replies.ts';
import { UpgradeCall, type UpgradedConnection } from './upgrade-call.ts';
import { UpstreamCall, type UpstreamCallEvents, type UpstreamReply } from './upstream-call.ts';

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Name, value, name, value, … */
  readonly headers: readonly string[];
  readonly body: Uint8Array | BodyStream | undefined;
  readonly timeoutMilliseconds: number;
  /** The deadline ends with the head; the body may go on for as long as something comes now and then. */
  readonly streaming: boolean;
}

/** An exchange that runs: its reply, and the way to end it early. */
export interface UpstreamExchange extends RequestDependent {
  /** Rejects with an ApiError: `bad_gateway`, `timeout` or `service_unavailable`. */
  readonly reply: Promise<UpstreamReply>;
  /** After the end of the exchange it does nothing, not even make the error. */
  cancel(reason: () => Error): void;
}

export interface Upstream {
  /** Its base URL. */
  readonly url: string;
  send(request: UpstreamRequest): UpstreamExchange;
  /** Opens a WebSocket. Rejects with an ApiError unless the service agrees. */
  upgrade(request: Omit<UpstreamRequest, 'body' | 'streaming'>): Promise<UpgradedConnection>;
  readonly circuit: CircuitState;
  /** What its pools do now: of what is answered at once, and of what stays open. */
  load(): Readonly<Record<'requests' | 'streams', PoolLoad>>;
  close(): Promise<void>;
}

export interface UpstreamOptions {
  readonly url: string;
  /** A path of the service that it answers at once while it works. */
  readonly health: string | undefined;
  /** Hears when the circuit opens and closes. */
  readonly onCircuitChange: (state: CircuitState) => void;
  readonly connections: number;
  /** Of their own for what stays open or sends much, so that it does not take the others' away. */
  readonly streamConnections: number;
  /** In flight or waiting for a connection; more are told to come back later. */
  readonly maximumRequests: number;
}

const doesNotRead = () =>
  serviceUnavailable(new Error('The caller did not read while others waited for a connection.'));

/** Short, so that a refused or unresolvable upstream is a 502 within a second. */
const CONNECT_TIMEOUT_MILLISECONDS = 900;
/** Server-sent events are to be kept alive by comments; what says nothing for so long is gone. */
const STREAM_IDLE_MILLISECONDS = 5 * 60_000;

/**
 * Bounded pools of connections to one service. After a lost reply only the caller can know whether the
 * operation may be repeated: nothing is sent twice but a GET or HEAD that met a closing connection (decision 13).
 */
export function createUpstream(options: UpstreamOptions): Upstream {
  const pools = openPools(options);
  const deadlines = new Deadlines<UpstreamCall>();
  const breaker = openBreaker(options, deadlines);
  const held = createUnreadReplies<UpstreamCall>({
    waiting: pools.waiting,
    cancel: (call) => call.cancel(doesNotRead),
  });
  const brief = new ConcurrencyLimit(options.maximumRequests);
  /** What lasts as long as its caller likes: streams, and bodies that were not read ahead. */
  const open = new ConcurrencyLimit(options.streamConnections);
  const { ofBrief, ofBody, ofStream } = callEvents({ deadlines, breaker, held, brief, open });

  function openCall({ streaming, body }: UpstreamRequest): UpstreamCall {
    if (streaming || isStream(body)) {
      open.enter();
      return new UpstreamCall(streaming ? ofStream : ofBody);
    }
    brief.enter();
    return new UpstreamCall(ofBrief);
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
      open.enter();
      const call = new UpgradeCall({
        answered: () => breaker.heard(),
        unanswered: (unanswered) => breaker.timedOut(unanswered),
        settled: () => open.leave(),
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

/** What the end and the parts of a call mean to everything that watches it. */
function callEvents(watchers: {
  readonly deadlines: Deadlines<UpstreamCall>;
  readonly breaker: CircuitBreaker;
  readonly held: UnreadReplies<UpstreamCall>;
  readonly brief: ConcurrencyLimit;
  readonly open: ConcurrencyLimit;
}) {
  const { deadlines, breaker, held } = watchers;
  const end = (call: UpstreamCall) => {
    deadlines.end(call);
    if (call.isUnanswered) {
      breaker.timedOut(call);
    }
  };
  const heard = () => breaker.heard();
  const ofBrief: UpstreamCallEvents = {
    answered: heard,
    received: heard,
    held: (call, isHeld) => (isHeld ? held.hold(call) : held.release(call)),
    settled(call) {
      end(call);
      held.release(call);
      watchers.brief.leave();
    },
  };
  const ofBody: UpstreamCallEvents = {
    answered: heard,
    received: heard,
    held: () => {},
    settled(call) {
      end(call);
      watchers.open.leave();
    },
  };
  const awaitMore = (call: UpstreamCall) => deadlines.extend(call, STREAM_IDLE_MILLISECONDS);
  const hearStream = (call: UpstreamCall) => {
    breaker.heard();
    awaitMore(call);
  };
  const ofStream: UpstreamCallEvents = {
    ...ofBody,
    answered: hearStream,
    received: hearStream,
    // A caller that does not read is no silence of the service; the server cuts it (slow-readers).
    held: (call, isHeld) =>
      isHeld ? deadlines.extend(call, Number.POSITIVE_INFINITY) : awaitMore(call),
  };
  return { ofBrief, ofBody, ofStream };
}

function openBreaker(
  { url, health, onCircuitChange }: UpstreamOptions,
  deadlines: Deadlines<UpstreamCall>,
): CircuitBreaker {
  const base = new URL(url);
  const prefix = base.pathname === '/' ? '' : base.pathname;
  const waiting = () => deadlines.running.filter((call) => !call.isAnswered);
  return new CircuitBreaker({
    health: health === undefined ? undefined : createHealthProbe(base, prefix + health),
    isWaiting: () => waiting().length > 0,
    endWaiting: (reason) => {
      for (const call of waiting()) {
        call.cancel(reason);
      }
    },
    onChange: onCircuitChange,
  });
}

/** Connections of our own for all exchanges, and of undici for upgrades, whose replies reach no caller. */
function openPools({ url: text, connections, streamConnections }: UpstreamOptions) {
  const url = new URL(text);
  const prefix = url.pathname === '/' ? '' : url.pathname;
  const open = (limit: number) =>
    new ConnectionPool({
      url,
      connections: limit,
      connectTimeoutMilliseconds: CONNECT_TIMEOUT_MILLISECONDS,
    });
  const brief = open(connections);
  const lasting = open(streamConnections);
  const upgrades = new Pool(url.origin, {
    connections: streamConnections,
    connectTimeout: CONNECT_TIMEOUT_MILLISECONDS,
    autoSelectFamily: true,
    allowH2: false,
    // The deadline of the handshake stands in for undici's own.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    load: () => ({ requests: brief.load, streams: addLoads(lasting.load, upgrades.stats) }),
    /** How many brief requests wait for a connection. */
    waiting: () => brief.load.pending,
    send({ method, target, headers, body, streaming }: UpstreamRequest, call: UpstreamCall): void {
      const pool = streaming || isStream(body) ? lasting : brief;
      pool.dispatch({ method, path: prefix + target, headers, body }, call);
    },
    upgrade(
      { target, headers }: Omit<UpstreamRequest, 'body' | 'streaming'>,
      call: UpgradeCall,
    ): void {
      const path = prefix + target;
      upgrades.dispatch({ method: 'GET', path, headers: [...headers], upgrade: 'websocket' }, call);
    },
    close: async () => {
      await Promise.all([brief.close(), lasting.destroy(), upgrades.destroy()]);
    },
  };
}

function isStream(body: UpstreamRequest['body']): body is BodyStream {
  return body !== undefined && !(body instanceof Uint8Array);
}
