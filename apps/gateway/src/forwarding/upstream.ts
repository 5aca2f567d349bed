import { Readable } from 'node:stream';
import { ApiError, serviceUnavailable } from '@gatehouse/api-envelope';
import { type Dispatcher, Pool } from 'undici';
import { createHeldExchanges } from './held-exchanges.ts';
import { UpgradeCall, type UpgradedConnection } from './upgrade-call.ts';
import { UpstreamCall, type UpstreamReply } from './upstream-call.ts';

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
  readonly pool: Pool;
  readonly limit: number;
  inFlight: number;
}

/**
 * A bounded pool of connections to one service. Nothing is ever sent twice: after a lost reply only the
 * caller can know whether the operation may be repeated.
 */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { origin, pathname } = new URL(options.url);
  const prefix = pathname === '/' ? '' : pathname;
  const brief = createLane(origin, options.connections, options.maximumRequests);
  /** What lasts as long as its caller likes: streams, and bodies that were not read ahead. */
  const open = createLane(origin, options.streamConnections, options.streamConnections);
  const held = createHeldExchanges<UpstreamCall>({
    waiting: () => brief.inFlight - options.connections,
    cancel: (call) => call.cancel(doesNotRead),
  });

  function dispatch(
    { pool }: Lane,
    request: Omit<UpstreamRequest, 'streaming'>,
    extra: Pick<Dispatcher.DispatchOptions, 'upgrade' | 'bodyTimeout'>,
    handler: Dispatcher.DispatchHandler,
  ): void {
    pool.dispatch(
      {
        method: request.method,
        path: prefix + request.target,
        headers: request.headers as string[],
        body: request.body ?? null,
        ...extra,
      },
      handler,
    );
  }

  function send(request: UpstreamRequest): UpstreamExchange {
    const lane = request.streaming || request.body instanceof Readable ? open : brief;
    assertRoom(lane);
    lane.inFlight += 1;
    const call = new UpstreamCall({
      answered: () => request.streaming && clearTimeout(deadline),
      held: (isHeld) => (isHeld && lane === brief ? held.hold(call) : held.release(call)),
      settled() {
        clearTimeout(deadline);
        held.release(call);
        lane.inFlight -= 1;
      },
    });
    const deadline = setTimeout(
      () => call.cancel(() => new ApiError('timeout')),
      request.timeoutMilliseconds,
    );
    const extra = request.streaming ? { bodyTimeout: STREAM_IDLE_MILLISECONDS } : {};
    dispatch(lane, request, extra, call);
    return {
      reply: call.reply,
      cancel: (reason) => call.cancel(reason),
    };
  }

  return {
    send,
    async upgrade(request) {
      assertRoom(open);
      open.inFlight += 1;
      const call = new UpgradeCall(() => {
        open.inFlight -= 1;
      });
      const deadline = setTimeout(() => call.expire(), request.timeoutMilliseconds);
      dispatch(open, { ...request, body: undefined }, { upgrade: 'websocket' }, call);
      return call.upgraded.finally(() => clearTimeout(deadline));
    },
    close: async () => {
      await Promise.all([brief.pool.close(), open.pool.destroy()]);
    },
  };
}

/** @throws ApiError `service_unavailable` */
function assertRoom(lane: Lane): void {
  if (lane.inFlight >= lane.limit) {
    throw serviceUnavailable(new Error('Too many requests are waiting for the upstream.'));
  }
}

function createLane(origin: string, connections: number, limit: number): Lane {
  return { pool: createPool(origin, connections), limit, inFlight: 0 };
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
