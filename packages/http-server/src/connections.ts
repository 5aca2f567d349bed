import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The open connections of a server and what is in flight on each. */
export interface Connections {
  /** From now on a connection ends with its reply, and the peer is told so. */
  startDraining(): void;
  /** Cuts the connections without a request in flight, silent new ones included. */
  cutIdle(): void;
  cutAll(): void;
  /** The oldest request on this connection whose reply is not over. */
  inFlight(socket: Socket): Exchange | undefined;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Node's own closeIdleConnections spares connections on which nothing came yet: they would hold up an end. */
export function trackConnections(server: Server): Connections {
  const exchanges = new Map<Socket, Set<Exchange>>();
  let draining = false;

  server.on('connection', (socket: Socket) => {
    exchanges.set(socket, new Set());
    socket.once('close', () => exchanges.delete(socket));
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    const exchange: Exchange = { request, response };
    exchanges.get(socket)?.add(exchange);
    if (draining) {
      announceEnd(exchange);
    }
    response.once('close', () => {
      const open = exchanges.get(socket);
      open?.delete(exchange);
      if (draining && open?.size === 0) {
        socket.destroySoon();
      }
    });
  });

  return {
    startDraining() {
      draining = true;
      for (const open of exchanges.values()) {
        open.forEach(announceEnd);
      }
    },
    cutIdle() {
      for (const [socket, open] of exchanges) {
        if (open.size === 0) {
          socket.destroy();
        }
      }
    },
    cutAll() {
      for (const socket of exchanges.keys()) {
        socket.destroy();
      }
    },
    inFlight: (socket) => exchanges.get(socket)?.values().next().value,
  };
}

function announceEnd({ response }: Exchange): void {
  if (!response.headersSent) {
    response.setHeader('Connection', 'close');
  }
}
