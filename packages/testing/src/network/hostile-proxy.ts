import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import { listen } from './listen.ts';

export interface ProxiedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Returns the reply to send, or undefined to close the connection without one. */
export type Attack = (
  reply: ProxiedReply,
  requestNumber: number,
  requestHeaders: IncomingHttpHeaders,
) => ProxiedReply | undefined;

export type HostileProxy = Awaited<ReturnType<typeof startHostileProxy>>;

/** Forwards every request, and lets an attack change the reply. */
export async function startHostileProxy(target: string) {
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    proxy.requests += 1;
    const requestNumber = proxy.requests;
    const forwarded = request(new URL(url ?? '/', target), { method, headers }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.on('end', () => {
        const { 'transfer-encoding': _, connection, ...kept } = reply.headers;
        const seen = { status: reply.statusCode ?? 0, headers: kept as Record<string, string> };
        const received = { ...seen, body: Buffer.concat(chunks) };
        const changed = proxy.attack(received, requestNumber, headers);
        if (changed === undefined) {
          incoming.socket.destroy();
          return;
        }
        const { status, body } = changed;
        outgoing.writeHead(status, { ...changed.headers, 'content-length': body.length });
        outgoing.end(body);
      });
    });
    incoming.pipe(forwarded);
  });
  const proxy = {
    url: `http://127.0.0.1:${await listen(server)}`,
    attack: ((reply) => reply) as Attack,
    /** The number of requests since the attack was set. */
    requests: 0,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return proxy;
}
