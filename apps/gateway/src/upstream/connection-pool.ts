/**
 * Connections to one service for requests whose body is complete. A request leaves in one write, and
 * no stream copies the reply. It is sent once, except for a GET or HEAD whose reused connection closed
 * before a reply. Deliberately not here: deadlines, which the caller keeps; pipelining, where one slow
 * or canceled reply would delay or break another caller's.
 */
import { serviceUnavailable } from '@gatehouse/errors';
import { Connection, type ConnectionOwner, type Exchange } from './connection.ts';
import { createSocketOpener, type OpenSocket, type ServiceAddress } from './open-socket.ts';

const SWEEP_MILLISECONDS = 100;
const MAXIMUM_AGE_MILLISECONDS = 30_000;
/** Longer than the pause between two packets of an honest caller's network. */
const MINIMUM_HELD_MILLISECONDS = 250;

export interface ConnectionPoolOptions extends ServiceAddress {
  readonly connections: number;
  readonly connectTimeoutMilliseconds: number;
  /**
   * Default: 30 s. A connection closes at 0.7 to 1.3 times this age, so that a balancer or DNS can
   * also choose servers that started later. The random part spreads the new connections over time.
   */
  readonly maximumAgeMilliseconds?: number;
}

export class ConnectionPool implements ConnectionOwner {
  readonly #options: ConnectionPoolOptions;
  readonly #all = new Set<Connection>();
  readonly #openSocket: OpenSocket;
  readonly #waiting: Exchange[] = [];
  /** The least recently used connection first, so that every server behind them gets requests. */
  #idle: Connection[] = [];
  #resting: Connection[] = [];
  #sweeper: NodeJS.Timeout | undefined;
  #whenClosed: (() => void) | undefined;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
    this.#openSocket = createSocketOpener(options);
  }

  get load() {
    const connected = [...this.#all].filter(({ isConnecting }) => !isConnecting).length;
    const free = this.#idle.length + this.#resting.length;
    return { connected, free, running: this.#all.size - free, pending: this.#waiting.length };
  }

  /** Sends the request on the next free connection. Fails a request that could be parsed as two. */
  send(exchange: Exchange): void {
    const hasRoom = this.#all.size < this.#options.connections;
    const connection = this.#takeIdle() ?? (hasRoom ? this.#open() : undefined);
    if (connection === undefined) {
      this.#waiting.push(exchange);
    } else {
      this.#sendOn(connection, exchange);
    }
  }

  /** Skips connections that have closed without an event so far. */
  #takeIdle(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.shift();
      if (connection === undefined || connection.isOpen) {
        return connection;
      }
    }
  }

  /** Waits for running exchanges. */
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
      // Two turns of the event loop read everything that was on its way. A service that sent more
      // than its reply loses the connection and cannot answer the next request
      // (GHSA-35p6-xmwp-9g52).
      setImmediate(() => setImmediate(() => this.#wake()));
    }
  }

  closed(connection: Connection, unanswered: Exchange | undefined): void {
    this.#all.delete(connection);
    this.#idle = this.#idle.filter((each) => each !== connection);
    const next = unanswered ?? this.#waiting.shift();
    if (next !== undefined) {
      this.#sendOn(this.#open(), next);
    }
    this.#closeWhenDone();
  }

  #wake(): void {
    const rested = this.#resting;
    this.#resting = [];
    for (const connection of rested) {
      const next = connection.isOpen ? this.#waiting.shift() : undefined;
      if (next !== undefined) {
        this.#sendOn(connection, next);
      } else if (this.#whenClosed !== undefined) {
        connection.destroy();
      } else if (connection.isOpen) {
        this.#idle.push(connection);
      }
    }
  }

  #sendOn(connection: Connection, exchange: Exchange): void {
    try {
      connection.send(exchange);
    } catch (error) {
      this.rest(connection);
      exchange.onResponseError(connection, error as Error);
    }
  }

  #open(): Connection {
    const { url, connectTimeoutMilliseconds } = this.#options;
    const { maximumAgeMilliseconds = MAXIMUM_AGE_MILLISECONDS } = this.#options;
    const now = performance.now();
    const useUntil = now + maximumAgeMilliseconds * (0.7 + 0.6 * Math.random());
    const times = [now + connectTimeoutMilliseconds, useUntil] as const;
    const connection = new Connection(url.host, this.#openSocket, times, this);
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
      // A connection that closes must not be taken.
      this.#idle = this.#idle.filter((each) => each !== connection);
      connection.destroy();
    }
    this.#endUnread(now);
    if (this.#all.size === 0) {
      clearInterval(this.#sweeper);
      this.#sweeper = undefined;
    }
  }

  /**
   * A caller that does not read its reply holds a connection: a few hundred of them, with one valid
   * credential, would block all other callers (slow read, CWE-400). While requests wait for a
   * connection, the replies that have been held longest are canceled.
   */
  #endUnread(now: number): void {
    if (this.#waiting.length > 0) {
      const held = [...this.#all].filter(
        ({ pausedAt }) => pausedAt + MINIMUM_HELD_MILLISECONDS <= now,
      );
      held.sort((one, other) => one.pausedAt - other.pausedAt);
      for (const connection of held.slice(0, this.#waiting.length)) {
        const cause = new Error('The caller did not read while others waited for a connection.');
        connection.abort(serviceUnavailable(cause, 'caller_too_slow'));
      }
    }
  }

  #closeWhenDone(): void {
    if (this.#all.size === 0 && this.#waiting.length === 0) {
      this.#whenClosed?.();
    }
  }
}
