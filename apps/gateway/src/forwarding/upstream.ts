import { Readable } from 'node:stream';
import { serviceUnavailable } from '@gatehouse/api-envelope';
import { type Dispatcher, Pool } from 'undici';
import { Deadlines } from './deadlines.ts';
import { createHeldExchanges } from './held-exchanges.ts';
import { ConnectionPool } from './http1/connection-pool.ts';
import { UpgradeCall, type UpgradedConnection } from './upgrade-call.ts';
import { UpstreamCall, type UpstreamCallEvents, type UpstreamReply } from './upstream-call.ts';

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Name, value, name, value, … */
  readonly headers: readonly string[];
  readonly body: Uint8Array | Readable | undefined;
  readonly timeoutMilliseconds: number;
  /** The deadline ends with the head; the body may go on for as long as something comes now and then. */
  readonly streaming: boolean;
}

/** An exchange that runs: its reply, and the way to end it early. */
export interface UpstreamExchange {
  /** Rejects with an ApiError: `bad_gateway`, `timeout` or `service_unavailable`. */
  readonly reply: Promise<UpstreamReply>;
  /** After the end of the exchange it does nothing, not even make the error. */
  cancel(reason: () => Error): void;
}

export interface Upstream {
  send(request: UpstreamRequest): UpstreamExchange;
  /** Opens a WebSocket. Rejects with an ApiError unless the service agrees. */
  upgrade(request: Omit<UpstreamRequest, 'body' | 'streaming'>): Promise<UpgradedConnection>;
  close(): Promise<void>;
}

export interface UpstreamOptions {
  readonly url: string;
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

/** Connections for one kind of exchange, and how many exchanges there are. */
interface Lane {
  readonly send: (request: UpstreamRequest, call: UpstreamCall) => void;
  readonly limit: number;
  readonly events: UpstreamCallEvents;
  inFlight: number;
}

/**
 * Bounded pools of connections to one service: our own for requests without a body, undici's for those with
 * one, for what lasts, and for what needs TLS. Nothing is ever sent twice: after a lost reply only the caller
 * can know whether the operation may be repeated.
 */
export function createUpstream(options: UpstreamOptions): Upstream {
  const url = new URL(options.url);
  const prefix = url.pathname === '/' ? '' : url.pathname;
  const deadlines = new Deadlines();
  const pools = openPools(url, options);
  const viaUndici = (pool: Pool) => (request: UpstreamRequest, call: UpstreamCall) => {
    const extra = request.streaming ? { bodyTimeout: STREAM_IDLE_MILLISECONDS } : {};
    pool.dispatch({ ...toOptions(request, prefix), ...extra }, call);
  };
  const { maximumRequests } = options;
  const brief = createLane(viaUndici(pools.brief), maximumRequests, deadlines, options.connections);
  const plain =
    pools.plain &&
    createLane(
      ({ method, target, headers }, call) =>
        pools.plain?.dispatch({ method, path: prefix + target, headers }, call),
      maximumRequests,
      deadlines,
      options.connections,
    );
  /** What lasts as long as its caller likes: streams, and bodies that were not read ahead. */
  const open = createLane(viaUndici(pools.open), options.streamConnections, deadlines);

  function laneOf({ streaming, body }: UpstreamRequest): Lane {
    if (streaming || body instanceof Readable) {
      return open;
    }
    return body === undefined && plain !== undefined ? plain : brief;
  }

  return {
    send(request) {
      const lane = laneOf(request);
      assertRoom(lane);
      lane.inFlight += 1;
      const call = new UpstreamCall(lane.events, request.streaming);
      deadlines.start(call, request.timeoutMilliseconds);
      lane.send(request, call);
      return call;
    },
    async upgrade(request) {
      assertRoom(open);
      open.inFlight += 1;
      const call = new UpgradeCall(() => {
        open.inFlight -= 1;
      });
      const deadline = setTimeout(() => call.expire(), request.timeoutMilliseconds);
      const handshake = toOptions({ ...request, body: undefined }, prefix);
      pools.open.dispatch({ ...handshake, upgrade: 'websocket' }, call);
      return call.upgraded.finally(() => clearTimeout(deadline));
    },
    close: pools.close,
  };
}

/** @throws ApiError `service_unavailable` */
function assertRoom(lane: Lane): void {
  if (lane.inFlight >= lane.limit) {
    throw serviceUnavailable(new Error('Too many requests are waiting for the upstream.'));
  }
}

/** @param connections where an exchange whose caller does not read makes room for those that wait */
function createLane(
  send: Lane['send'],
  limit: number,
  deadlines: Deadlines,
  connections = Number.POSITIVE_INFINITY,
): Lane {
  const held = createHeldExchanges<UpstreamCall>({
    waiting: () => lane.inFlight - connections,
    cancel: (call) => call.cancel(doesNotRead),
  });
  const mayBeHeldUp = connections === Number.POSITIVE_INFINITY;
  const lane: Lane = {
    send,
    limit,
    inFlight: 0,
    events: {
      answered(call) {
        if (call.isStream) {
          deadlines.end(call);
        }
      },
      held: (call, isHeld) => (isHeld && !mayBeHeldUp ? held.hold(call) : held.release(call)),
      settled(call) {
        deadlines.end(call);
        held.release(call);
        lane.inFlight -= 1;
      },
    },
  };
  return lane;
}

function toOptions(
  request: Omit<UpstreamRequest, 'streaming'>,
  prefix: string,
): Dispatcher.DispatchOptions {
  return {
    method: request.method,
    path: prefix + request.target,
    headers: request.headers as string[],
    body: request.body ?? null,
  };
}

function openPools(url: URL, { connections, streamConnections }: UpstreamOptions) {
  const plain =
    url.protocol === 'http:'
      ? new ConnectionPool({
          ...{ url, connections },
          connectTimeoutMilliseconds: CONNECT_TIMEOUT_MILLISECONDS,
        })
      : undefined;
  const brief = createPool(url.origin, connections);
  const open = createPool(url.origin, streamConnections);
  return {
    ...{ plain, brief, open },
    close: async () => {
      await Promise.all([plain?.close(), brief.close(), open.destroy()]);
    },
  };
}

function createPool(origin: string, connections: number): Pool {
  return new Pool(origin, {
    connections,
    connectTimeout: CONNECT_TIMEOUT_MILLISECONDS,
    autoSelectFamily: true,
    allowH2: false,
    // One deadline for the whole exchange stands in for undici's own two, which a trickle would outlive.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
