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
  // Arrays, not Sets: the tables that a Set leaves behind keep what passed through it until a full collection,
  // which costs a busy server a tenth of its time.
  const exchanges = new Map<Socket, Exchange[]>();
  let draining = false;

  server.on('connection', (socket: Socket) => {
    exchanges.set(socket, []);
    socket.once('close', () => exchanges.delete(socket));
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    const exchange: Exchange = { request, response };
    exchanges.get(socket)?.push(exchange);
    if (draining) {
      announceEnd(exchange);
    }
    response.on('close', () => {
      const open = exchanges.get(socket);
      const at = open?.indexOf(exchange) ?? -1;
      if (at !== -1) {
        open?.splice(at, 1);
      }
      if (draining && open?.length === 0) {
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
    inFlight: (socket) => exchanges.get(socket)?.[0],
  };
}

function announceEnd({ response }: Exchange): void {
  if (!response.headersSent) {
    response.setHeader('Connection', 'close');
  }
}
