import { createServer, type Server, type Socket } from 'node:net';
import { listen } from '@gatehouse/testing';
import type { Exchange, ReplyController } from '../src/upstream/connection.ts';
import type { ConnectionPool } from '../src/upstream/connection-pool.ts';

/** A service that answers with raw bytes. */
export interface RawService {
  readonly url: URL;
  /** All connections, the oldest first. */
  readonly sockets: readonly Socket[];
  /** All requests, the oldest first. */
  readonly requests: readonly string[];
  /** Called with each request and its number on the connection. */
  answer: (socket: Socket, request: string, number: number) => unknown;
  close(): void;
}

export async function startRawService(
  createListener: (onConnection: (socket: Socket) => void) => Server = createServer,
  host = '127.0.0.1',
): Promise<RawService> {
  const sockets: Socket[] = [];
  const requests: string[] = [];
  const server = createListener((socket) => {
    let number = 0;
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      const request = data.toString('latin1');
      requests.push(request);
      number += 1;
      service.answer(socket, request, number);
    });
  });
  server.on('tlsClientError', () => {});
  const port = await listen(server, host);
  const service: RawService = {
    url: new URL(`http://${host}:${port}`),
    sockets,
    requests,
    answer: (socket) => socket.write(whole('{}')),
    close() {
      for (const socket of sockets) {
        socket.destroy();
      }
      server.close();
    },
  };
  return service;
}

/** A complete reply with this body. */
export const whole = (body: string) =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Runs one exchange, by default a GET, which `begun` may cancel. Resolves to status and body. */
export function ask(
  pool: ConnectionPool,
  request: Partial<Exchange['request']> = {},
  observed: Partial<Exchange> = {},
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const outcome = { status: 0, body: '' };
    pool.send({
      request: { method: 'GET', path: '/', headers: [], body: undefined, ...request },
      onRequestStart: () => undefined,
      onResponseHead(controller, status, headers) {
        outcome.status = status;
        observed.onResponseHead?.(controller, status, headers);
      },
      onResponseData(controller, chunk) {
        outcome.body += chunk.toString('latin1');
        observed.onResponseData?.(controller, chunk);
      },
      onResponseEnd() {
        observed.onResponseEnd?.();
        resolve(outcome);
      },
      onResponseError: (_controller: ReplyController, error) => reject(error),
      ...(observed.onRequestStart && { onRequestStart: observed.onRequestStart }),
    });
  });
}
