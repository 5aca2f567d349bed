import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../telemetry/logger.ts';

const SECOND = 1000;
const KIB = 1024;

/** Every limit of a server, set explicitly. Times are in milliseconds, sizes in bytes. */
export const serverLimits = {
  /**
   * From the first byte of a connection, or the end of the previous reply, to the end of the
   * headers.
   */
  headersTimeout: 15 * SECOND,
  /** The same, to the end of the body. */
  requestTimeout: 30 * SECOND,
  /** Longer than the 60 s of proxies, because the side that closes first can lose a request. */
  keepAliveTimeout: 75 * SECOND,
  /** Interval of the checks for overdue requests and replies. */
  connectionsCheckingInterval: 5 * SECOND,
  maxHeaderSize: 16 * KIB,
  maxHeadersCount: 100,
  /** A peer must read waiting data in this time, plus one second per given number of bytes. */
  replyGrace: 30 * SECOND,
  replyBytesPerSecond: 64 * KIB,
  /** Below the 10 s limit of a shutdown, so that stores close in order. */
  drainTimeout: 8 * SECOND,
  operationsMaxConnections: 128,
} as const;

type SlowReaderLimits = Readonly<
  Record<'replyGrace' | 'replyBytesPerSecond' | 'connectionsCheckingInterval', number>
>;

/**
 * Closes connections whose peer does not read its reply (slow read, CWE-400). Node limits the time
 * of a request but not of a reply, and unread replies occupy memory. A peer must read all waiting
 * data in time, so an occasional byte is not enough.
 */
export function cutSlowReaders(server: Server, limits: SlowReaderLimits): void {
  /** The data that waits is read when the connection has written so many bytes. */
  const waiting = new Map<Socket, { readonly until: number; readonly bytes: number } | undefined>();
  server.on('connection', (socket: Socket) => {
    waiting.set(socket, undefined);
    socket.once('close', () => waiting.delete(socket));
  });
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [socket, earlier] of waiting) {
      const { writableLength, bytesWritten: bytes } = socket;
      if (earlier === undefined || bytes - writableLength >= earlier.bytes) {
        const until =
          now + limits.replyGrace + (1000 * writableLength) / limits.replyBytesPerSecond;
        waiting.set(socket, writableLength === 0 ? undefined : { until, bytes });
      } else if (now > earlier.until) {
        socket.destroy();
      }
    }
  }, limits.connectionsCheckingInterval).unref();
  server.once('close', () => clearInterval(timer));
}

const REPORT_INTERVAL_MILLISECONDS = 60_000;

/**
 * Logs at most once per minute how many connections were closed above the limit, so a flood does not
 * fill the log.
 */
export function reportDroppedConnections(server: Server, logger: Logger | undefined): void {
  let dropped = 0;
  let reported = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    dropped += 1;
    if (performance.now() - reported >= REPORT_INTERVAL_MILLISECONDS) {
      reported = performance.now();
      logger?.warn({ dropped, limit: server.maxConnections }, 'too many connections');
      dropped = 0;
    }
  });
}
