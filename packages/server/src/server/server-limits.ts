import type { Server } from 'node:http';
import type { Socket } from 'node:net';

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
  /** 0: no limit of requests per connection. */
  maxRequestsPerSocket: 0,
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

const REPORT_INTERVAL_MILLISECONDS = 60_000;

/**
 * Logs at most once per minute how many connections were closed above the limit, so a flood does not
 * fill the log.
 */
export function countDroppedConnections(server: Server, report: (dropped: number) => void): void {
  let dropped = 0;
  let reported = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    dropped += 1;
    if (performance.now() - reported >= REPORT_INTERVAL_MILLISECONDS) {
      reported = performance.now();
      report(dropped);
      dropped = 0;
    }
  });
}
