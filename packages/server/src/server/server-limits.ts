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
