import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The open connections of a server and their requests in flight. */
export interface Connections {
  /** From now on, each connection ends after its reply, with `Connection: close`. */
  startDraining(): void;
  /** Closes connections without a request in flight, including new connections without data. */
  cutIdle(): void;
  cutAll(): void;
  /** Requests on this connection without a complete reply, oldest first. */
  inFlight(socket: Socket): readonly Exchange[];
  /** Marks the replies in flight on this connection as its last ones. */
  endAfterReplies(socket: Socket): void;
  /** Ends the connections above this number, each after its next reply. Returns the rest. */
  limitConnections(limit: number): number;
  load(): { readonly connections: number; readonly requests: number };
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Node's closeIdleConnections skips connections without data, which would delay a shutdown. */
export function trackConnections(server: Server): Connections {
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
    startDraining() {
      draining = true;
      for (const open of exchanges.values()) {
        announceEnd(open);
      }
    },
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
    inFlight: (socket) => exchanges.get(socket) ?? [],
    endAfterReplies,
    limitConnections(limit) {
      const staying = [...exchanges.keys()].filter((socket) => !ending.has(socket));
      staying.slice(limit).forEach(endAfterReplies);
      return Math.min(staying.length, limit);
    },
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
