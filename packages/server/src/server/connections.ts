/** The open connections of a server: their requests, when these start and write, their metrics. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '@gatehouse/errors';
import type { MetricsRegistry } from '../telemetry/metrics-registry.ts';

export type Connections = ReturnType<typeof trackConnections>;

/**
 * The open connections of a server and their replies in flight. Node's closeIdleConnections skips
 * connections without data, which would delay a shutdown.
 */
export function trackConnections(server: Server) {
  // Arrays instead of Sets: they usually contain one element, and Sets leave tables behind.
  const replies = new Map<Socket, ServerResponse<IncomingMessage>[]>();
  const ending = new WeakSet<Socket>();
  let draining = false;

  server.on('connection', (socket: Socket) => {
    replies.set(socket, []);
    socket.once('close', () => replies.delete(socket));
  });
  server.on('request', ({ socket }, response) => {
    const open = replies.get(socket) ?? [];
    open.push(response);
    if (draining || ending.has(socket)) {
      announceEnd(open);
    }
    response.on('close', () => {
      const at = open.indexOf(response);
      if (at !== -1) {
        open.splice(at, 1);
      }
      if (open.length === 0 && (draining || ending.has(socket))) {
        socket.destroySoon();
      }
    });
  });

  return {
    /** From now on, each connection ends after its reply, with `Connection: close`. */
    startDraining() {
      draining = true;
      replies.forEach(announceEnd);
    },
    /** Closes connections without a request in flight, including new connections without data. */
    cutIdle() {
      for (const [socket, open] of replies) {
        if (open.length === 0) {
          socket.destroy();
        }
      }
    },
    cutAll() {
      for (const socket of replies.keys()) {
        socket.destroy();
      }
    },
    /** The replies on this connection that are not complete, oldest first. */
    inFlight: (socket: Socket): readonly ServerResponse<IncomingMessage>[] =>
      replies.get(socket) ?? [],
    /** Marks the replies in flight on this connection as its last ones. */
    endAfterReplies(socket: Socket) {
      ending.add(socket);
      announceEnd(replies.get(socket) ?? []);
    },
    load: () => ({ connections: replies.size, requests: [...replies.values()].flat().length }),
  };
}

/**
 * Announces the end in the last reply. Node writes no reply after one with `Connection: close`, and
 * pipelined requests have already started.
 */
function announceEnd(replies: readonly ServerResponse[]): void {
  for (const reply of replies.filter(({ headersSent }) => !headersSent)) {
    if (reply === replies.at(-1)) {
      reply.setHeader('Connection', 'close');
    } else {
      reply.removeHeader('Connection');
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
): (code: ErrorCode) => void {
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
    labels: { code: ['illegal_argument', 'headers_too_large', 'request_timeout'] },
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
