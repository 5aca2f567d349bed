const SECOND = 1000;
const KIB = 1024;

/**
 * Every limit of a server, set deliberately and not left to Node's defaults. docs/operations/reference.md gives the reason
 * of each; a test compares. Times are milliseconds, sizes bytes.
 */
export const serverLimits = {
  /** From the first byte of a connection, or the end of the last reply, to the end of the headers. */
  headersTimeout: 15 * SECOND,
  /** The same, to the end of the body. */
  requestTimeout: 30 * SECOND,
  /** Longer than the 60 s after which proxies let go: who closes first loses what is on its way. */
  keepAliveTimeout: 75 * SECOND,
  /** How often overdue requests and replies are looked for. */
  connectionsCheckingInterval: 5 * SECOND,
  maxHeaderSize: 16 * KIB,
  maxHeadersCount: 100,
  /** 0: as many as a client likes, one after another. */
  maxRequestsPerSocket: 0,
  /** What waits for a peer to read it must be gone after this, and a second more for each so many bytes. */
  replyGrace: 30 * SECOND,
  replyBytesPerSecond: 64 * KIB,
  /** Below the 10 s in which a process is to be gone, so that stores still close in order. */
  drainTimeout: 8 * SECOND,
  operationsMaxConnections: 128,
} as const;
