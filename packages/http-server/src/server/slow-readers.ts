import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface SlowReaderLimits {
  /** Milliseconds in which a peer takes what waits for it, however little it is. */
  readonly replyGrace: number;
  /** Bytes for which it gets another second. */
  readonly replyBytesPerSecond: number;
  /** Milliseconds between two looks. */
  readonly connectionsCheckingInterval: number;
}

/** What waited at one look: it is taken when the connection has written so many bytes. */
interface Waiting {
  readonly until: number;
  readonly bytes: number;
}

/**
 * Cuts connections whose peer does not take its reply: Node bounds how long a request may come, but not how long
 * a reply may go, and a reply that nobody reads stays in memory (slow read, CWE-400). A peer that takes a byte
 * now and then is no better, so what counts is that everything that waited is gone in time.
 */
export function cutSlowReaders(server: Server, limits: SlowReaderLimits): void {
  const connections = new Map<Socket, Waiting | undefined>();
  server.on('connection', (socket: Socket) => {
    connections.set(socket, undefined);
    socket.once('close', () => connections.delete(socket));
  });
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [socket, waiting] of connections) {
      const next = look(socket, waiting, now, limits);
      if (next !== undefined && now > next.until) {
        socket.destroy();
      } else {
        connections.set(socket, next);
      }
    }
  }, limits.connectionsCheckingInterval);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

function look(
  socket: Socket,
  waiting: Waiting | undefined,
  now: number,
  { replyGrace, replyBytesPerSecond }: SlowReaderLimits,
): Waiting | undefined {
  const { writableLength, bytesWritten } = socket;
  if (writableLength === 0) {
    return undefined;
  }
  if (waiting !== undefined && bytesWritten - writableLength < waiting.bytes) {
    return waiting;
  }
  const allowed = replyGrace + (1000 * writableLength) / replyBytesPerSecond;
  return { until: now + allowed, bytes: bytesWritten };
}
