/**
 * The parts of every server process.
 *
 *   run-process (start, end) ─▶ serve (drain) ── connections (idle or busy), client-error, malformed-input (not HTTP)
 *                               ├ accept-first (a burst of connections is accepted before its requests run)
 *                               ├ accept-waiting, hold-requests (no connection is lost at the end)
 *                               ├ unix-socket (a name that can be removed before the end)
 *                               ├ server-limits ── slow-readers, dropped-connections
 *                               ├ observed-request (id, one log line) ── logger ── serialize-error (masks)
 *                               ├ continue (100 only for a body that the app reads)
 *                               ├ absolute-form (one form of the request target)
 *                               ├ framing-guard, transfer-encoding (reject an ambiguous end of a body)
 *                               ├ deferred-listener (503 until the application exists)
 *                               ├ operations-server (/live, /ready, /metrics) ── metrics/
 *                               ├ workers/ (several processes share the port)
 *                               └ deny-debugging (no inspector, no memory in a core dump)
 *
 * Routing, authentication and replies belong to the applications.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestRecorder } from '../requests/request-recorder.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { MetricsRegistry } from '../telemetry/metrics-registry.ts';
import { toOriginForm } from './absolute-form.ts';
import { acceptFirst } from './accept-first.ts';
import { acceptWaiting } from './accept-waiting.ts';
import { createClientErrorHandler, rejectHead } from './client-error.ts';
import { type Connections, trackConnections } from './connections.ts';
import { deferContinue } from './continue.ts';
import { countDroppedConnections } from './dropped-connections.ts';
import { createFramingGuard } from './framing-guard.ts';
import { holdRequests } from './hold-requests.ts';
import { createMalformedInputReporter } from './malformed-input.ts';
import { serverLimits } from './server-limits.ts';
import { addServerMetrics } from './server-metrics.ts';
import { cutSlowReaders } from './slow-readers.ts';
import { listenOnUnixSocket } from './unix-socket.ts';

/** A request may already be in transit on an idle connection. It still gets a reply (CF-02). */
const IDLE_GRACE_MILLISECONDS = 250;

export interface ListenOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Path of a Unix socket to listen on, instead of `host` and `port`. */
  readonly socketPath?: string | undefined;
  /** Listens in another way, and returns how it stops new connections. */
  readonly listen?: (
    server: Server,
    at: Pick<ListenOptions, 'host' | 'port' | 'socketPath'>,
  ) => Promise<() => Promise<void>>;
  /** Time that `close` waits for requests in flight. */
  readonly drainMilliseconds?: number;
  /**
   * Time during which `close` still accepts connections, each for one request. Load balancers need
   * it to notice that this process is not ready.
   */
  readonly shutdownDelayMilliseconds?: number;
  /** Registry for the metrics of connections and invalid requests. */
  readonly metrics?: MetricsRegistry;
  /** Further connections are closed immediately. */
  readonly maximumConnections?: number;
  /** Log for closed connections. */
  readonly logger?: Logger;
  /** Records input that is not a request. */
  readonly recordMalformed?: RequestRecorder['recordMalformed'];
  /** The listener handles `Expect: 100-continue` with `sendContinue`. */
  readonly answersContinue?: boolean;
  readonly upgrades?: UpgradeListener;
  /** The listener reads a body only if it is announced. Other requests have no stream. */
  readonly readsAnnouncedBodiesOnly?: boolean;
}

/** Takes over connections whose upgrade it accepts. Other requests are ordinary requests. */
export interface UpgradeListener {
  accepts(request: IncomingMessage): boolean;
  handle(request: IncomingMessage, socket: Socket, head: Buffer): void;
}

export interface RunningServer {
  /** 0 for a Unix socket. */
  readonly port: number;
  readonly connections: Pick<Connections, 'limitConnections'>;
  /** Stops accepting, waits up to 8 s for requests in flight, and closes the rest. */
  close(): Promise<void>;
}

export async function serve(
  application: RequestListener,
  options: ListenOptions,
): Promise<RunningServer> {
  const { upgrades, logger } = options;
  const framing = createFramingGuard();
  const server = createServer({
    headersTimeout: serverLimits.headersTimeout,
    requestTimeout: serverLimits.requestTimeout,
    keepAliveTimeout: serverLimits.keepAliveTimeout,
    connectionsCheckingInterval: serverLimits.connectionsCheckingInterval,
    maxHeaderSize: serverLimits.maxHeaderSize,
    // Node would reply without a body or a log line. `toOriginForm` checks the header instead.
    requireHostHeader: false,
    optimizeEmptyRequests: options.readsAnnouncedBodiesOnly === true,
    ...(upgrades && {
      shouldUpgradeCallback: (request: IncomingMessage) =>
        !framing.isDoubtful(request) && toOriginForm(request) && upgrades.accepts(request),
    }),
  });
  const connections = trackConnections(server);
  const start = acceptFirst(server, application);
  const listener: RequestListener = (request, response) => {
    if (framing.isDoubtful(request)) {
      return;
    }
    if (toOriginForm(request)) {
      start(request, response);
    } else {
      reportMalformed(rejectHead(request, response));
    }
  };
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
    // Node passes a `net.Socket`, which its types do not show.
    server.on('upgrade', (request, socket, head) =>
      upgrades.handle(request, socket as Socket, head),
    );
  }
  const reportMalformed = createMalformedInputReporter({
    count: options.metrics && addServerMetrics(options.metrics, server, connections),
    logger,
    record: options.recordMalformed,
  });
  server.on('clientError', createClientErrorHandler(connections, reportMalformed));
  const { socketPath } = options;
  const withdraw = await (options.listen ?? listen)(server, options);
  let closed: Promise<void> | undefined;
  return {
    port: socketPath === undefined ? (server.address() as AddressInfo).port : 0,
    connections,
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

function listen(
  server: Server,
  { host, port, socketPath }: ListenOptions,
): Promise<(() => Promise<void>) | undefined> {
  if (socketPath !== undefined) {
    return listenOnUnixSocket(server, socketPath);
  }
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve(undefined);
    });
  });
}

interface DrainOptions {
  readonly limit: number;
  readonly delay: number;
  /** Stops new connections while it accepts the waiting ones, if the listener supports it. */
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
  // server.close() would cut idle connections, with requests in transit.
  await acceptWaiting(server, () => NetServer.prototype.close.call(server, () => closed.resolve()));
  release();
  const grace = setTimeout(
    // Gives the event loop turns to read data that has arrived.
    () => setImmediate(() => setImmediate(() => connections.cutIdle())),
    Math.min(IDLE_GRACE_MILLISECONDS, limit),
  );
  await closed.promise;
  clearTimeout(grace);
  clearTimeout(cut);
  // Stops the interval in which Node checks for overdue requests.
  server.close();
}
