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
    load() {
      let requests = 0;
      for (const open of exchanges.values()) {
        requests += open.length;
      }
      return { connections: exchanges.size, requests };
    },
  };
}

function announceEnd({ response }: Exchange): void {
  if (!response.headersSent) {
    response.setHeader('Connection', 'close');
  }
}
