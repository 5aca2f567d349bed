/**
 * The metrics of the gateway, in addition to those of every server. Labels are names of the route
 * table, kinds of credential and codes of the catalogue, never values that a caller chooses
 * (SL-08).
 *
 *   observe-authenticator ─▶ verified      request-limits ─▶ limited      audit trail ─▶ audited
 *   request log ─▶ requestLog
 *   observeRequests ─▶ requested           upstreams ─▶ watchUpstreams, read for each scrape
 */
import { errorCatalogue } from '@gatehouse/errors';
import { type AuditEvent, requestLogResults } from '@gatehouse/identity';
import {
  addProcessMetrics,
  createRequestLogMetrics,
  createRequestMetrics,
  type MetricsRegistry,
  type RequestObserver,
} from '@gatehouse/server';
import { forwardAuthOperation } from '../forward-auth/required-scope.ts';
import { credentialKinds } from '../routes/route.ts';
import type { Routing } from '../routes/route-file.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Verification } from './observe-authenticator.ts';

export interface GatewayMetrics {
  readonly requested: RequestObserver;
  readonly verified: (verification: Verification) => void;
  /**
   * Counts a rejected request. The limit is `client`, `address`, `signature` or the name of an
   * operation.
   */
  readonly limited: (limit: string) => void;
  readonly audited: (event: AuditEvent) => void;
  /** Counts what happened to entries of the request log. */
  readonly requestLog: (result: string, entries: number) => void;
  /** Called once. Registers the metrics of the connection pools. */
  watchUpstreams(upstreams: ReadonlyMap<string, Upstream>): void;
}

const VERIFICATION_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.01, 0.05, 0.5] as const;
const UPSTREAM_BUCKETS_SECONDS = [0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5, 15] as const;
/** Operations that are not in the route table. */
const ownOperations = [
  forwardAuthOperation,
  'preflight',
  'protected-resource',
  'openapi',
  'explorer',
  'time',
] as const;

export function createGatewayMetrics(
  registry: MetricsRegistry,
  { routes }: Pick<Routing, 'routes'>,
): GatewayMetrics {
  addProcessMetrics(registry, { app: 'gateway' });
  const operations = [...new Set(routes.map((route) => route.operation))];
  return {
    requested: createRequestObserver(registry, operations),
    verified: createVerificationObserver(registry),
    limited: createLimitObserver(registry),
    audited: createAuditObserver(registry),
    requestLog: createRequestLogMetrics(registry, requestLogResults),
    watchUpstreams: (upstreams) => collectPools(registry, upstreams),
  };
}

function createRequestObserver(
  registry: MetricsRegistry,
  operations: readonly string[],
): RequestObserver {
  const requested = createRequestMetrics(registry, {
    operations: [...operations, ...ownOperations],
    credentials: credentialKinds,
    codes: Object.keys(errorCatalogue),
  });
  const upstream = registry.histogram({
    name: 'gatehouse_upstream_duration_seconds',
    help: 'Time until the head of the reply arrived from the upstream, or the request failed.',
    labels: { operation: operations },
    buckets: UPSTREAM_BUCKETS_SECONDS,
  });
  return (request) => {
    requested(request);
    if (request.upstreamMs !== undefined) {
      upstream.of(request.operation ?? 'unmatched').observe(request.upstreamMs / 1000);
    }
  };
}

function createVerificationObserver(registry: MetricsRegistry): GatewayMetrics['verified'] {
  const durations = registry.histogram({
    name: 'gatehouse_verification_duration_seconds',
    help: 'Time to verify a credential. For a signature, this includes reading the body.',
    labels: { credential: credentialKinds, result: ['accepted', 'refused', 'unavailable'] },
    buckets: VERIFICATION_BUCKETS_SECONDS,
  });
  return ({ credential, result, seconds }) => durations.of(credential, result).observe(seconds);
}

function createLimitObserver(registry: MetricsRegistry): GatewayMetrics['limited'] {
  const refusals = registry.counter({
    name: 'gatehouse_throttle_refusals_total',
    help: 'Requests that were rejected because of a rate limit.',
    labels: { limit: ['client', 'address', 'signature', 'operation'] },
  });
  const named: readonly string[] = ['client', 'address', 'signature'];
  return (limit) => {
    refusals.of(named.includes(limit) ? limit : 'operation').value += 1;
  };
}

function createAuditObserver(registry: MetricsRegistry): GatewayMetrics['audited'] {
  const tokens = registry.counter({
    name: 'gatehouse_tokens_issued_total',
    help: 'Issued tokens.',
    labels: { grant: ['signed_request'] },
  });
  const replays = registry.counter({
    name: 'gatehouse_replay_refusals_total',
    help: 'Credentials that were rejected because they had been used before.',
    labels: { credential: ['signature'] },
  });
  return (event) => {
    if (event.event === 'token_issued') {
      tokens.of(event.grant).value += 1;
    } else if (event.event === 'request_replayed') {
      replays.of('signature').value += 1;
    }
  };
}

function collectPools(registry: MetricsRegistry, upstreams: ReadonlyMap<string, Upstream>): void {
  registry.collect({
    name: 'gatehouse_upstream_requests',
    help: 'Requests to an upstream: running, or waiting for a connection.',
    type: 'gauge',
    acrossWorkers: 'sum',
    read: () =>
      loads(upstreams).flatMap(({ labels, load }) => [
        { labels: { ...labels, state: 'running' }, value: load.running },
        { labels: { ...labels, state: 'pending' }, value: load.pending },
      ]),
  });
  registry.collect({
    name: 'gatehouse_upstream_circuit_open',
    help: '1 while an upstream does not answer and the gateway rejects requests for it at once.',
    type: 'gauge',
    acrossWorkers: 'max',
    read: () =>
      [...upstreams].map(([upstream, { circuit }]) => ({
        labels: { upstream },
        value: circuit === 'closed' ? 0 : 1,
      })),
  });
  registry.collect({
    name: 'gatehouse_upstream_connections',
    help: 'Connections to an upstream: all open ones, and the free ones.',
    type: 'gauge',
    acrossWorkers: 'sum',
    read: () =>
      loads(upstreams).flatMap(({ labels, load }) => [
        { labels: { ...labels, state: 'connected' }, value: load.connected },
        { labels: { ...labels, state: 'free' }, value: load.free },
      ]),
  });
}

function loads(upstreams: ReadonlyMap<string, Upstream>) {
  return [...upstreams].flatMap(([upstream, pools]) =>
    Object.entries(pools.load()).map(([pool, load]) => ({ labels: { upstream, pool }, load })),
  );
}
