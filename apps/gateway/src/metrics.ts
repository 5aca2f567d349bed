/**
 * The metrics of the gateway, in addition to those of every server, and the log line of each request.
 * Labels are names of routes, kinds of credential and codes of the catalogue, never values that a
 * caller chooses.
 */
import type { RequestListener } from 'node:http';
import { errorCatalogue } from '@gatehouse/errors';
import { type AuditEvent, type Identity, requestLogResults } from '@gatehouse/identity';
import {
  type AddressMatcher,
  addProcessMetrics,
  addressGroup,
  createIncrements,
  createRequestLogMetrics,
  createRequestMetrics,
  createRequestRecorder,
  type Logger,
  type MetricsRegistry,
  observeRequests,
  type RequestObserver,
  type Tracer,
} from '@gatehouse/server';
import { credentialKinds } from '@gatehouse/signing';
import { clientAddress } from './messages.ts';
import { ownOperations, type Route } from './routes/route.ts';
import type { Upstream } from './upstream/upstream.ts';

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

const VERIFICATION_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.01, 0.05, 0.5] as const;
const UPSTREAM_BUCKETS_SECONDS = [0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5, 15] as const;

export function createGatewayMetrics(registry: MetricsRegistry) {
  addProcessMetrics(registry, { app: 'gateway' });
  // The label values of requests. A reload of the routes can add some.
  const operations: string[] = ['unmatched', ...ownOperations];
  return {
    requested: createRequestMetrics(registry, {
      operations,
      credentials: [...credentialKinds, 'browser'],
      codes: Object.keys(errorCatalogue),
    }),
    upstreamDurations: registry.histogram({
      name: 'gatehouse_upstream_duration_seconds',
      help: 'Time until the head of the reply arrived from the upstream, or the request failed.',
      labels: { operation: operations },
      buckets: UPSTREAM_BUCKETS_SECONDS,
    }),
    /** The result is `unavailable` if verification was impossible, for example without the store. */
    verificationDurations: registry.histogram({
      name: 'gatehouse_verification_duration_seconds',
      help: 'Time to verify a credential. For a signature, this includes reading the body.',
      labels: { credential: credentialKinds, result: ['accepted', 'refused', 'unavailable'] },
      buckets: VERIFICATION_BUCKETS_SECONDS,
    }),
    /**
     * Counts a rejected request. The limit is `client`, `address`, `signature` or the name of an
     * operation.
     */
    limited: createLimitObserver(registry),
    audited: createAuditObserver(registry),
    /** Counts what happened to entries of the request log. */
    requestLog: createRequestLogMetrics(registry, requestLogResults),
    /** What this process counted, for the time series of operators. */
    increments: createIncrements(registry, {
      metric: 'gatehouse_verification_duration_seconds',
      sample: 'gatehouse_verification_duration_seconds_count',
      labels: ['credential', 'result'],
    }),
    /** Counts the requests of these routes by the name of their operation. */
    addOperations(routes: readonly Route[]): void {
      const added = new Set(routes.map((route) => route.operation));
      operations.push(...[...added].filter((each) => !operations.includes(each)));
    },
    /** Called once. Registers the metrics of the connections. */
    watchUpstreams: (upstreams: () => ReadonlyMap<string, Upstream>) =>
      collectPools(registry, upstreams),
  };
}

/** Gives each request its id, log line, metrics, trace and entry in the request log. */
export function observeTraffic(
  dependencies: {
    readonly identity: Pick<Identity, 'requestLog'>;
    readonly logger: Logger;
    readonly metrics: GatewayMetrics;
    readonly tracer?: Tracer | undefined;
  },
  isTrustedProxy: AddressMatcher,
) {
  const { identity, logger, metrics, tracer } = dependencies;
  const recorder = createRequestRecorder({
    app: 'gateway',
    addressGroupOf: (message) => addressGroup(clientAddress(message, isTrustedProxy)),
    record: identity.requestLog.record,
  });
  const observer: RequestObserver = (line, message) => {
    const { operation = 'unmatched', upstreamMs } = line;
    metrics.requested(line);
    metrics.increments.observe(line);
    if (upstreamMs !== undefined) {
      metrics.upstreamDurations.of(operation).observe(upstreamMs / 1000);
    }
    recorder.observe(line, message);
  };
  const observing = { leavesHeaderToListener: true, observer, isTrustedProxy, tracer };
  return {
    observe: (listener: RequestListener) => observeRequests(listener, logger, observing),
    recordMalformed: recorder.recordMalformed,
  };
}

function createLimitObserver(registry: MetricsRegistry) {
  const refusals = registry.counter({
    name: 'gatehouse_throttle_refusals_total',
    help: 'Requests that were rejected because of a rate limit.',
    labels: { limit: ['client', 'address', 'signature', 'operation'] },
  });
  const named: readonly string[] = ['client', 'address', 'signature'];
  return (limit: string) => {
    refusals.of(named.includes(limit) ? limit : 'operation').value += 1;
  };
}

function createAuditObserver(registry: MetricsRegistry) {
  const tokens = registry.counter({
    name: 'gatehouse_tokens_issued_total',
    help: 'Issued tokens.',
    labels: { grant: ['signed_request', 'browser_session'] },
  });
  const replays = registry.counter({
    name: 'gatehouse_replay_refusals_total',
    help: 'Credentials that were rejected because they had been used before.',
    labels: { credential: ['signature'] },
  });
  return (event: AuditEvent) => {
    if (event.event === 'token_issued') {
      tokens.of(event.grant).value += 1;
    } else if (event.event === 'request_replayed') {
      replays.of('signature').value += 1;
    }
  };
}

function collectPools(
  registry: MetricsRegistry,
  upstreams: () => ReadonlyMap<string, Upstream>,
): void {
  const loads = (...states: readonly ('connected' | 'free' | 'pending' | 'running')[]) =>
    [...upstreams()].flatMap(([upstream, { load }]) =>
      Object.entries(load()).flatMap(([pool, counts]) =>
        states.map((state) => ({ labels: { upstream, pool, state }, value: counts[state] })),
      ),
    );
  registry.collect({
    name: 'gatehouse_upstream_requests',
    help: 'Requests to an upstream: running, or waiting for a connection.',
    acrossWorkers: 'sum',
    read: () => loads('running', 'pending'),
  });
  registry.collect({
    name: 'gatehouse_upstream_circuit_open',
    help: '1 while an upstream does not answer and the gateway rejects requests for it at once.',
    acrossWorkers: 'max',
    read: () =>
      [...upstreams()].map(([upstream, { circuit }]) => ({
        labels: { upstream },
        value: circuit === 'closed' ? 0 : 1,
      })),
  });
  registry.collect({
    name: 'gatehouse_upstream_connections',
    help: 'Connections to an upstream: all open ones, and the free ones.',
    acrossWorkers: 'sum',
    read: () => loads('connected', 'free'),
  });
}
