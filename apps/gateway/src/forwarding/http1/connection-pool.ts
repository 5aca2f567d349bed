/**
 * Connections to one service for the requests that need no more than the least of HTTP/1.1: no body, no
 * upgrade, no TLS. A request goes out in one write and a reply is read without a stream between.
 *
 *   connection-pool (which connection) ─▶ connection (one exchange at a time) ─▶ reply-reader (framing) ─▶ reply-head
 *
 * Deliberately not here: everything else, which undici does; deadlines, which the caller keeps; sending
 * anything twice; pipelining, where one slow or cancelled reply would be another caller's as well.
 */
import type { PoolLoad } from '../pool-load.ts';
import {
  Connection,
  type ConnectionOwner,
  type ExchangeHandler,
  type PlainRequest,
} from './connection.ts';

const SWEEP_MILLISECONDS = 100;

export interface ConnectionPoolOptions {
  readonly url: URL;
  readonly connections: number;
  readonly connectTimeoutMilliseconds: number;
}

interface Waiting {
  readonly request: PlainRequest;
  readonly handler: ExchangeHandler;
}

export class ConnectionPool implements ConnectionOwner {
  readonly #options: ConnectionPoolOptions;
  readonly #all = new Set<Connection>();
  readonly #waiting: Waiting[] = [];
  /** The last used first, so that those that are not needed expire. */
  #idle: Connection[] = [];
  #resting: Connection[] = [];
  #sweeper: NodeJS.Timeout | undefined;
  #whenClosed: (() => void) | undefined;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  get load(): PoolLoad {
    const connected = [...this.#all].filter(({ isConnecting }) => !isConnecting).length;
    const free = this.#idle.length + this.#resting.length;
    return { connected, free, running: this.#all.size - free, pending: this.#waiting.length };
  }

  /** With the next free connection. A request that could be read as another one fails. */
  dispatch(request: PlainRequest, handler: ExchangeHandler): void {
    const hasRoom = this.#all.size < this.#options.connections;
    const connection = this.#takeIdle() ?? (hasRoom ? this.#open() : undefined);
    if (connection === undefined) {
      this.#waiting.push({ request, handler });
    } else {
      this.#send(connection, request, handler);
    }
  }

  /** One may be closed already and not yet have said so. */
  #takeIdle(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined || connection.isOpen) {
        return connection;
      }
    }
  }

  /** Lets what is in flight end first. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenClosed = () => {
        clearInterval(this.#sweeper);
        resolve();
      };
      for (const connection of this.#idle.splice(0)) {
        connection.destroy();
      }
      this.#closeWhenDone();
    });
  }

  rest(connection: Connection): void {
    if (this.#resting.push(connection) === 1) {
      // Twice: until the second, everything that was already on its way is read, and who sent more than its
      // reply loses its connection instead of answering the next request (GHSA-35p6-xmwp-9g52).
      setImmediate(() => setImmediate(() => this.#wake()));
    }
  }

  closed(connection: Connection): void {
    this.#all.delete(connection);
    this.#idle = this.#idle.filter((each) => each !== connection);
    const next = this.#waiting.shift();
    if (next !== undefined) {
      this.#send(this.#open(), next.request, next.handler);
    }
    this.#closeWhenDone();
  }

  #wake(): void {
    const rested = this.#resting;
    this.#resting = [];
    for (const connection of rested) {
      const next = connection.isOpen ? this.#waiting.shift() : undefined;
      if (next !== undefined) {
        this.#send(connection, next.request, next.handler);
      } else if (this.#whenClosed !== undefined) {
        connection.destroy();
      } else if (connection.isOpen) {
        this.#idle.push(connection);
      }
    }
  }

  #send(connection: Connection, request: PlainRequest, handler: ExchangeHandler): void {
    try {
      connection.send(request, handler);
    } catch (error) {
      this.rest(connection);
      handler.onResponseError(connection, error as Error);
    }
  }

  #open(): Connection {
    const { url, connectTimeoutMilliseconds } = this.#options;
    const connection = new Connection(url, performance.now() + connectTimeoutMilliseconds, this);
    this.#all.add(connection);
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MILLISECONDS).unref();
    return connection;
  }

  #sweep(): void {
    const now = performance.now();
    for (const connection of this.#all) {
      if (connection.isConnecting && connection.expiresAt <= now) {
        connection.destroy(new Error('The service did not accept the connection in time.'));
      }
    }
    for (const connection of this.#idle.filter(({ expiresAt }) => expiresAt <= now)) {
      // Its place goes now: it must not be taken while it closes.
      this.#idle = this.#idle.filter((each) => each !== connection);
      connection.destroy();
    }
    if (this.#all.size === 0) {
      clearInterval(this.#sweeper);
      this.#sweeper = undefined;
    }
  }

  #closeWhenDone(): void {
    if (this.#all.size === 0 && this.#waiting.length === 0) {
      this.#whenClosed?.();
    }
  }
}
