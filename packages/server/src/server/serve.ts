/**
 * The parts of every server process.
 *
 *   process/ (start, end, workers) ─▶ serve ── connections, drain (no connection is lost at the end)
 *                               ├ listen (a port or a Unix socket)
 *                               ├ message-framing (where a message begins and ends; 100 Continue)
 *                               ├ malformed-input (replies to input that is no request)
 *                               └ server-limits (times, sizes, slow readers)
 *   operations (/live, /ready, /metrics), requests/ (id, log line, routes), telemetry/, configuration/
 *
 * Authentication and replies belong to the applications.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { RequestRecorder } from '../requests/request-records.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { MetricsRegistry } from '../telemetry/metrics-registry.ts';
import { acceptFirst, addServerMetrics, trackConnections } from './connections.ts';
import { drain } from './drain.ts';
import { type ListenAddress, listen, removeStaleSocket, withdrawSocket } from './listen.ts';
import {
  createClientErrorHandler,
  createMalformedInputReporter,
  rejectHead,
} from './malformed-input.ts';
import { createFramingGuard, deferContinue, toOriginForm } from './message-framing.ts';
import { cutSlowReaders, reportDroppedConnections, serverLimits } from './server-limits.ts';

export interface ServeOptions extends ListenAddress {
  /** Workers share the listener. Resolves when no new connections can arrive. */
  readonly untilListenerCloses?: (() => Promise<void>) | undefined;
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

export type RunningServer = Awaited<ReturnType<typeof serve>>;

export async function serve(application: RequestListener, options: ServeOptions) {
  const { upgrades, socketPath } = options;
  const admits = createFramingGuard();
  const server = createServer({
    ...serverLimits,
    // Node would reply without a body or a log line. `toOriginForm` checks the header instead.
    requireHostHeader: false,
    optimizeEmptyRequests: options.readsAnnouncedBodiesOnly === true,
    ...(upgrades && {
      shouldUpgradeCallback: (request: IncomingMessage) =>
        admits(request) && toOriginForm(request) && upgrades.accepts(request),
    }),
  });
  server.maxHeadersCount = serverLimits.maxHeadersCount;
  const connections = trackConnections(server);
  const reportMalformed = createMalformedInputReporter({
    count: options.metrics && addServerMetrics(options.metrics, server, connections),
    logger: options.logger,
    record: options.recordMalformed,
  });
  const { start, hold } = acceptFirst(server, application);
  const listener: RequestListener = (request, response) => {
    if (!admits(request, response)) {
      return;
    }
    if (toOriginForm(request)) {
      start(request, response);
    } else {
      reportMalformed(rejectHead(request, response));
    }
  };
  server.on('request', listener);
  server.on('clientError', createClientErrorHandler(connections, reportMalformed));
  cutSlowReaders(server, serverLimits);
  applyOptions(server, options);
  let { untilListenerCloses } = options;
  if (socketPath !== undefined && untilListenerCloses === undefined) {
    await removeStaleSocket(socketPath);
    untilListenerCloses = () => withdrawSocket(socketPath);
  }
  await listen(server, options);
  let closed: Promise<void> | undefined;
  return {
    /** 0 for a Unix socket. */
    port: socketPath === undefined ? (server.address() as AddressInfo).port : 0,
    /** Stops accepting, waits up to 8 s for requests in flight, and closes the rest. */
    close(): Promise<void> {
      closed ??= drain(server, hold, connections, { ...options, untilListenerCloses });
      return closed;
    },
  };
}

function applyOptions(
  server: Server,
  { maximumConnections, logger, answersContinue, upgrades }: ServeOptions,
): void {
  if (maximumConnections !== undefined) {
    server.maxConnections = maximumConnections;
    reportDroppedConnections(server, logger);
  }
  if (answersContinue === true) {
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
}
