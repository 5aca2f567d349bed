import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface SlowReaderLimits {
  /** Milliseconds in which a peer must read waiting data of any size. */
  readonly replyGrace: number;
  /** Bytes that add one second. */
  readonly replyBytesPerSecond: number;
  /** Milliseconds between two checks. */
  readonly connectionsCheckingInterval: number;
}

/** Waiting data at one check. It is read when the connection has written this many bytes. */
interface Waiting {
  readonly until: number;
  readonly bytes: number;
}

/**
 * Closes connections whose peer does not read its reply (slow read, CWE-400). Node limits the time
 * of a request but not of a reply, and unread replies occupy memory. A peer must read all waiting
 * data in time, so an occasional byte is not enough.
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
