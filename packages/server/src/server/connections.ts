/** The open connections of a server: their requests, when these start and write, their metrics. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { MetricsRegistry } from '../telemetry/metrics-registry.ts';

/** The codes of input that is not a request, as in the error catalogue of the platform API. */
const CLIENT_ERROR_CODES = ['illegal_argument', 'headers_too_large', 'request_timeout'] as const;

export type ClientErrorCode = (typeof CLIENT_ERROR_CODES)[number];

export type Connections = ReturnType<typeof trackConnections>;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * The open connections of a server and their requests in flight. Node's closeIdleConnections skips connections without
 * data, which would delay a shutdown.
 */
export function trackConnections(server: Server) {
  // Arrays instead of Sets: they usually contain one element, and Sets leave tables behind.
  const exchanges = new Map<Socket, Exchange[]>();
  const ending = new WeakSet<Socket>();
  let draining = false;

  server.on('connection', (socket: Socket) => {
    exchanges.set(socket, []);
    socket.once('close', () => exchanges.delete(socket));
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    const exchange: Exchange = { request, response };
    const requests = exchanges.get(socket) ?? [];
    requests.push(exchange);
    if (draining || ending.has(socket)) {
      announceEnd(requests);
    }
    response.on('close', () => {
      const open = exchanges.get(socket);
      const at = open?.indexOf(exchange) ?? -1;
      if (at !== -1) {
        open?.splice(at, 1);
      }
      if (open?.length === 0 && (draining || ending.has(socket))) {
        socket.destroySoon();
      }
    });
  });

  function endAfterReplies(socket: Socket): void {
    ending.add(socket);
    announceEnd(exchanges.get(socket) ?? []);
  }

  return {
    /** From now on, each connection ends after its reply, with `Connection: close`. */
    startDraining() {
      draining = true;
      for (const open of exchanges.values()) {
        announceEnd(open);
      }
    },
    /** Closes connections without a request in flight, including new connections without data. */
    cutIdle() {
      for (const [socket, open] of exchanges) {
        if (open.length === 0) {
          socket.destroy();
        }
      }
    },
    cutAll() {
      for (const socket of exchanges.keys()) {
        socket.destroy();
      }
    },
    /** Requests on this connection without a complete reply, oldest first. */
    inFlight: (socket: Socket): readonly Exchange[] => exchanges.get(socket) ?? [],
    /** Marks the replies in flight on this connection as its last ones. */
    endAfterReplies,
    load() {
      let requests = 0;
      for (const open of exchanges.values()) {
        requests += open.length;
      }
      return { connections: exchanges.size, requests };
    },
  };
}

/**
 * Announces the end in the last reply. Node writes no reply after one with `Connection: close`, and
 * pipelined requests have already started.
 */
function announceEnd(requests: readonly Exchange[]): void {
  const [last, ...before] = requests.toReversed();
  if (last !== undefined && !last.response.headersSent) {
    last.response.setHeader('Connection', 'close');
  }
  for (const { response } of before) {
    if (!response.headersSent) {
      response.removeHeader('Connection');
    }
  }
}

/**
 * Metrics of events before a request exists, and of the load of a server.
 *
 * @returns an observer of input that is not a request
 */
export function addServerMetrics(
  registry: MetricsRegistry,
  server: Server,
  connections: Connections,
): (code: ClientErrorCode) => void {
  registry.collect({
    name: 'gatehouse_connections',
    help: 'Open connections.',
    acrossWorkers: 'sum',
    read: () => connections.load().connections,
  });
  registry.collect({
    name: 'gatehouse_requests_in_flight',
    help: 'Requests without a complete reply.',
    acrossWorkers: 'sum',
    read: () => connections.load().requests,
  });
  const refused = registry.counter({
    name: 'gatehouse_connections_refused_total',
    help: 'Connections that were closed immediately, because too many were open.',
  });
  server.on('drop', () => {
    refused.of().value += 1;
  });
  const malformed = registry.counter({
    name: 'gatehouse_malformed_requests_total',
    help: 'Input that was not a request: invalid HTTP, too large headers, or too slow.',
    labels: { code: CLIENT_ERROR_CODES },
  });
  return (code) => {
    malformed.of(code).value += 1;
  };
}

/** Bounds the wait of requests during a flood of new connections. */
const MOST_MILLISECONDS = 50;

/**
 * Starts requests only after all waiting connections are accepted. libuv accepts one connection in
 * each turn of the event loop. If a turn also ran a request of every accepted connection, the last
 * of 128 new connections would wait for thousands of requests (bench/whole-path).
 */
export function acceptFirst(server: Server, listener: RequestListener) {
  let held: Parameters<RequestListener>[] | undefined;
  let hasAccepted = false;
  let acceptsUntil = 0;
  let isClosing = false;

  server.on('connection', () => {
    hasAccepted = true;
    if (held === undefined) {
      held = [];
      acceptsUntil = performance.now() + MOST_MILLISECONDS;
      setImmediate(endTurn);
    }
  });

  function endTurn(): void {
    if (hasAccepted && performance.now() < acceptsUntil) {
      hasAccepted = false;
      setImmediate(endTurn);
    } else if (!isClosing) {
      release();
    }
  }

  /** Skips requests whose client disconnected or that were already rejected. */
  function release(): void {
    const waiting = held ?? [];
    held = undefined;
    for (const [request, response] of waiting) {
      if (request.socket.writable) {
        listener(request, response);
      }
    }
  }

  return {
    start: ((request, response) => {
      if (held === undefined) {
        listener(request, response);
      } else {
        held.push([request, response]);
      }
    }) satisfies RequestListener,
    /** Delays new requests until the returned function is called. */
    hold() {
      isClosing = true;
      held ??= [];
      return () => {
        isClosing = false;
        release();
      };
    },
  };
}

export type AcceptFirst = ReturnType<typeof acceptFirst>;

let waiting: (() => void)[] = [];

/**
 * Runs a write after all events of this turn of the event loop. A write to a socket wakes its reader.
 * If the writes of a turn follow each other, the readers wake up less often and find more to do: the
 * whole path needs 10 to 15 % less processor time with 16 connections (bench/whole-path).
 */
export function atEndOfTurn(write: () => void): void {
  if (waiting.push(write) === 1) {
    setImmediate(writeAll);
  }
}

function writeAll(): void {
  const writes = waiting;
  waiting = [];
  for (const write of writes) {
    write();
  }
}
