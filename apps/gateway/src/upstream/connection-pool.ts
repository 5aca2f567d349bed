/**
 * Connections to one service for requests whose body is complete. A request leaves in one write, and
 * no stream copies the reply. It is sent once, except for a GET or HEAD whose reused connection closed
 * before a reply. Deliberately not here: deadlines, which the caller keeps; pipelining, where one slow
 * or canceled reply would delay or break another caller's.
 */
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { serviceUnavailable } from '@gatehouse/errors';
import { Connection, type Exchange } from './connection.ts';

export interface ConnectionPoolOptions {
  readonly url: URL;
  /** Path of a Unix socket to connect to instead of the host and port of the URL. */
  readonly socketPath?: string | undefined;
  readonly connections: number;
  readonly connectTimeoutMilliseconds: number;
  /**
   * A connection closes at 0.7 to 1.3 times this age, so that a balancer or DNS can also choose
   * servers that started later. The random part spreads the new connections over time.
   */
  readonly maximumAgeMilliseconds?: number;
}

const MAXIMUM_AGE_MILLISECONDS = 30_000;
const SWEEP_MILLISECONDS = 100;
/** Longer than the pause between two packets of an honest caller's network. */
const MINIMUM_HELD_MILLISECONDS = 250;

export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #openSocket: OpenSocket;
  readonly #all = new Set<Connection>();
  readonly #waiting: Exchange[] = [];
  readonly #sweeper = setInterval(() => this.#sweep(), SWEEP_MILLISECONDS).unref();
  /** The least recently used connection first, so that every server behind them gets requests. */
  #idle: Connection[] = [];
  #resting: Connection[] = [];

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
    this.#openSocket = createSocketOpener(options);
  }

  get load() {
    const { size: connected } = this.#all;
    const free = this.#idle.length + this.#resting.length;
    return { connected, free, running: connected - free, pending: this.#waiting.length };
  }

  /** Sends the request on the next free connection. Fails a request that could be parsed as two. */
  send(exchange: Exchange): void {
    // Skips connections that have closed without an event so far.
    let connection = this.#idle.shift();
    while (connection?.isOpen === false) {
      connection = this.#idle.shift();
    }
    if (connection !== undefined || this.#all.size < this.#options.connections) {
      (connection ?? this.#open()).send(exchange);
    } else {
      this.#waiting.push(exchange);
    }
  }

  /** Called after the last request. */
  close(): void {
    clearInterval(this.#sweeper);
    this.#waiting.length = 0;
    for (const connection of this.#all) {
      connection.abort(new Error('The gateway stops.'));
      connection.destroy();
    }
  }

  /** The exchange of the connection ended. The connection is free after pending data has been read. */
  rest(connection: Connection): void {
    if (this.#resting.push(connection) === 1) {
      // Two turns of the event loop read everything that was on its way. A service that sent more
      // than its reply loses the connection and cannot answer the next request
      // (GHSA-35p6-xmwp-9g52).
      setImmediate(setImmediate, this.#wake);
    }
  }

  /** @param unanswered may be sent again, on a new connection */
  closed(connection: Connection, unanswered: Exchange | undefined): void {
    this.#all.delete(connection);
    this.#idle = this.#idle.filter((each) => each !== connection);
    const next = unanswered ?? this.#waiting.shift();
    if (next !== undefined) {
      this.#open().send(next);
    }
  }

  readonly #wake = () => {
    const rested = this.#resting;
    this.#resting = [];
    for (const connection of rested) {
      const next = connection.isOpen ? this.#waiting.shift() : undefined;
      if (next !== undefined) {
        connection.send(next);
      } else if (connection.isOpen) {
        this.#idle.push(connection);
      }
    }
  };

  #open(): Connection {
    const { url, maximumAgeMilliseconds = MAXIMUM_AGE_MILLISECONDS } = this.#options;
    const useUntil = performance.now() + maximumAgeMilliseconds * (0.7 + 0.6 * Math.random());
    const connection = new Connection(url.host, useUntil, this.#openSocket, this);
    this.#all.add(connection);
    return connection;
  }

  #sweep(): void {
    const now = performance.now();
    for (const connection of this.#idle.filter(({ expiresAt }) => expiresAt <= now)) {
      connection.destroy();
    }
    // A caller that does not read its reply holds a connection: a few hundred of them, with one valid
    // credential, would block all others (slow read, CWE-400). While requests wait for a connection,
    // the replies that have been held longest are canceled.
    const held = [...this.#all]
      .filter(({ pausedAt }) => pausedAt + MINIMUM_HELD_MILLISECONDS <= now)
      .sort((one, other) => one.pausedAt - other.pausedAt);
    for (const connection of held.slice(0, this.#waiting.length)) {
      const cause = new Error('The caller did not read while others waited for a connection.');
      connection.abort(serviceUnavailable(cause, 'caller_too_slow'));
    }
  }
}

/**
 * Opens a connection. `onRead` must copy the bytes that it keeps before it returns: the next read of
 * any connection overwrites them. If it returns false, nothing more is read.
 */
export type OpenSocket = (onRead: (length: number, bytes: Uint8Array) => boolean) => Socket;

/** Most replies arrive in one read. */
const BUFFER_BYTES = 64 * 1024;

/** Connections to one service, with TLS if its URL has the scheme https. */
function createSocketOpener(options: ConnectionPoolOptions): OpenSocket {
  const { url, socketPath, connectTimeoutMilliseconds } = options;
  const { protocol, hostname, port } = url;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const common = { host, noDelay: true, autoSelectFamily: true };
  const limited = (socket: Socket, connected: string) =>
    socket
      .once(connected, () => socket.setTimeout(0))
      .setTimeout(connectTimeoutMilliseconds, () => {
        // After a pause of this process, the timer fires before the connection is reported.
        setImmediate(() => {
          if (socket.timeout !== 0) {
            socket.destroy(new Error('The service did not accept the connection in time.'));
          }
        });
      });
  if (protocol === 'https:') {
    const servername = isIP(host) === 0 ? host : '';
    const tls = { port: Number(port || 443), servername, ALPNProtocols: ['http/1.1'] };
    return (onRead) => {
      const socket = limited(connectTls({ ...common, ...tls }), 'secureConnect');
      return socket.on('data', (bytes) => onRead(bytes.length, bytes));
    };
  }
  // All connections share one buffer, because Node reads and calls back in one step. Reading without
  // a stream saves CPU time (bench/gateway).
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  const target = socketPath === undefined ? { port: Number(port || 80) } : { path: socketPath };
  return (callback) =>
    limited(connect({ ...common, ...target, onread: { buffer, callback } }), 'connect');
}
