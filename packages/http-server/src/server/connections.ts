import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The open connections of a server and what is in flight on each. */
export interface Connections {
  /** From now on a connection ends with its reply, and the peer is told so. */
  startDraining(): void;
  /** Cuts the connections without a request in flight, silent new ones included. */
  cutIdle(): void;
  cutAll(): void;
  /** The requests on this connection whose replies are not over, oldest first. */
  inFlight(socket: Socket): readonly Exchange[];
  /** The replies in flight on this connection are its last. */
  endAfterReplies(socket: Socket): void;
  /** How many connections are open, and how many requests are in flight on them. */
  load(): { readonly connections: number; readonly requests: number };
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Node's own closeIdleConnections spares connections on which nothing came yet: they would hold up an end. */
export function trackConnections(server: Server): Connections {
  // Arrays, not Sets: they hold one exchange as a rule, and a Set leaves tables behind as they come and go.
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
    endAfterReplies(socket) {
      ending.add(socket);
      announceEnd(exchanges.get(socket) ?? []);
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
 * With the last reply, which says so: Node writes none of those that follow a reply with `Connection: close`, and
 * pipelined requests have been begun.
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
