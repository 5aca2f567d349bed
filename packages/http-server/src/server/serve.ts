/**
 * What every server process of Gatehouse is made of.
 *
 *   run-process (start, end) ─▶ serve (drain) ── connections (who is idle), client-error (not HTTP)
 *                               ├ accept-waiting, hold-requests (no connection is lost at the end)
 *                               ├ unix-socket (a name that can be taken away before the end)
 *                               ├ server-limits ── slow-readers, dropped-connections
 *                               ├ observed-request (id, one log line) ── logger ── serialize-error (masks)
 *                               ├ continue (100 only for a body that is wanted)
 *                               ├ transfer-encoding (where a body ends must not be in doubt)
 *                               ├ deferred-listener (503 until the application could be built)
 *                               ├ operations-server (/live, /ready, /metrics) ── metrics/
 *                               └ deny-debugging (no inspector, no memory in a core dump)
 *
 * Deliberately not here: routing, authentication, and the answers of an application.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../logging/logger.ts';
import type { MetricsRegistry } from '../metrics/metrics-registry.ts';
import { acceptWaiting } from './accept-waiting.ts';
import { createClientErrorHandler } from './client-error.ts';
import { type Connections, trackConnections } from './connections.ts';
import { deferContinue } from './continue.ts';
import { countDroppedConnections } from './dropped-connections.ts';
import { createFramingGuard } from './framing-guard.ts';
import { holdRequests } from './hold-requests.ts';
import { serverLimits } from './server-limits.ts';
import { addServerMetrics } from './server-metrics.ts';
import { cutSlowReaders } from './slow-readers.ts';
import { listenOnUnixSocket } from './unix-socket.ts';

/** A request may be on its way down a connection that looks idle: it is answered, not cut (CF-02). */
const IDLE_GRACE_MILLISECONDS = 250;

export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Path of a Unix socket to listen on, instead of `host` and `port`. */
  readonly socketPath?: string | undefined;
  /** How long `close` waits for requests in flight. */
  readonly drainMilliseconds?: number;
  /**
   * How long `close` still accepts connections, each for one request: who spreads requests over several
   * processes needs this long to notice that this one is no longer ready.
   */
  readonly shutdownDelayMilliseconds?: number;
  /** Where connections and what is no request are counted. */
  readonly metrics?: MetricsRegistry;
  /** Further connections are closed at once. */
  readonly maximumConnections?: number;
  /** Where closed connections are reported. */
  readonly logger?: Logger;
  /** The listener answers `Expect: 100-continue` itself, with `sendContinue`, when it wants the body. */
  readonly answersContinue?: boolean;
  readonly upgrades?: UpgradeListener;
  /** The listener reads a body only where one is announced: a request without one is no stream then. */
  readonly readsAnnouncedBodiesOnly?: boolean;
}

/** Takes over the connections whose upgrade it accepts; every other such request is an ordinary one. */
export interface UpgradeListener {
  accepts(request: IncomingMessage): boolean;
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export interface RunningServer {
  /** 0 where it listens on a Unix socket. */
  readonly port: number;
  /** Stops accepting, lets requests in flight finish for up to 8 s, then cuts what is left. */
  close(): Promise<void>;
}

export async function serve(
  application: RequestListener,
  options: ListenOptions,
): Promise<RunningServer> {
  const { upgrades, logger } = options;
  const framing = createFramingGuard();
  const listener: RequestListener = (request, response) => {
    if (!framing.isDoubtful(request)) {
      application(request, response);
    }
  };
  const server = createServer({
    headersTimeout: serverLimits.headersTimeout,
    requestTimeout: serverLimits.requestTimeout,
    keepAliveTimeout: serverLimits.keepAliveTimeout,
    connectionsCheckingInterval: serverLimits.connectionsCheckingInterval,
    maxHeaderSize: serverLimits.maxHeaderSize,
    optimizeEmptyRequests: options.readsAnnouncedBodiesOnly === true,
    ...(upgrades && {
      shouldUpgradeCallback: (request: IncomingMessage) =>
        !framing.isDoubtful(request) && upgrades.accepts(request),
    }),
  });
  const connections = trackConnections(server);
  server.maxRequestsPerSocket = serverLimits.maxRequestsPerSocket;
  server.maxHeadersCount = serverLimits.maxHeadersCount;
  cutSlowReaders(server, serverLimits);
  server.on('request', framing.note);
  server.on('request', listener);
  if (options.maximumConnections !== undefined) {
    server.maxConnections = options.maximumConnections;
    countDroppedConnections(server, (dropped) =>
      logger?.warn({ dropped, limit: options.maximumConnections }, 'too many connections'),
    );
  }
  if (options.answersContinue === true) {
    server.on('checkContinue', (request, response) => {
      deferContinue(request, response);
      server.emit('request', request, response);
    });
  }
  if (upgrades !== undefined) {
    server.on('upgrade', (request, socket, head) => upgrades.handle(request, socket, head));
  }
  const countMalformed = options.metrics && addServerMetrics(options.metrics, server, connections);
  server.on(
    'clientError',
    createClientErrorHandler(connections, (code) => countMalformed?.(code)),
  );
  const { socketPath } = options;
  const withdraw = await (socketPath === undefined
    ? listen(server, options)
    : listenOnUnixSocket(server, socketPath));
  let closed: Promise<void> | undefined;
  return {
    port: socketPath === undefined ? (server.address() as AddressInfo).port : 0,
    close() {
      closed ??= drain(server, listener, connections, {
        limit: options.drainMilliseconds ?? serverLimits.drainTimeout,
        delay: options.shutdownDelayMilliseconds ?? 0,
        withdraw,
      });
      return closed;
    },
  };
}

function listen(server: Server, options: ListenOptions): Promise<undefined> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', reject);
      resolve(undefined);
    });
  });
}

interface DrainOptions {
  readonly limit: number;
  readonly delay: number;
  /** Keeps new connections away while those of before are still accepted, where the listener can do that. */
  readonly withdraw: (() => Promise<void>) | undefined;
}

async function drain(
  server: Server,
  listener: RequestListener,
  connections: Connections,
  { limit, delay, withdraw }: DrainOptions,
): Promise<void> {
  connections.startDraining();
  const cut = setTimeout(() => connections.cutAll(), limit);
  if (delay > 0) {
    await sleep(Math.min(delay, limit));
  }
  await withdraw?.();
  const release = holdRequests(server, listener);
  const closed = Promise.withResolvers<void>();
  // Not server.close(): it cuts idle connections at once, and with them requests on their way.
  await acceptWaiting(server, () => NetServer.prototype.close.call(server, () => closed.resolve()));
  release();
  const grace = setTimeout(
    // Turns that read what has come, however late this is called.
    () => setImmediate(() => setImmediate(() => connections.cutIdle())),
    Math.min(IDLE_GRACE_MILLISECONDS, limit),
  );
  await closed.promise;
  clearTimeout(grace);
  clearTimeout(cut);
  // Ends the interval in which Node looks for overdue requests.
  server.close();
}
