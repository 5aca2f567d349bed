import type { Identity, SigningKeyPolicy } from '@gatehouse/identity';
import { createAddressMatcher, createRouter, type Logger, type Tracer } from '@gatehouse/server';
import { createAuthenticate } from './authentication/authenticate.ts';
import { HELD_BODIES, type HeldBodiesLimits } from './authentication/held-bodies.ts';
import type { GatewayConfiguration } from './config.ts';
import { createExplorer } from './explorer/explorer.ts';
import { createForwarding } from './forwarding/forward.ts';
import { createInternalTokenIssuer } from './forwarding/internal-token.ts';
import { type GatewayMetrics, observeTraffic } from './metrics.ts';
import { createSignatureAudit, thisGateway } from './pipeline/audit.ts';
import { createCrossOrigin } from './pipeline/cross-origin.ts';
import type { LocalOperation } from './pipeline/exchange.ts';
import { createXAccessTokenOperation } from './pipeline/issue-access-token.ts';
import { createRequestLimits, createSignatureBudget } from './pipeline/limits.ts';
import { createPipeline } from './pipeline/pipeline.ts';
import { createReplySigner } from './pipeline/reply-signature.ts';
import { openPublicDocuments } from './routes/public-documents.ts';
import { type Entry, issueAccessTokenOperation } from './routes/route.ts';
import type { RoutedUpstream } from './routes/route-file.ts';
import { createUpstream, type Upstream } from './upstream/upstream.ts';

type Settings = Pick<
  GatewayConfiguration,
  | 'publicUrl'
  | 'authorizationServerUrl'
  | 'routing'
  | 'trustedProxies'
  | 'signatureToleranceMilliseconds'
  | 'clientRateLimit'
  | 'addressRateLimit'
  | 'accessTokenMaximumSeconds'
> &
  Partial<Pick<GatewayConfiguration, 'forwardAuth' | 'explorer' | 'workers'>>;

export interface GatewayDependencies extends Settings {
  readonly identity: Identity;
  readonly logger: Logger;
  readonly metrics: GatewayMetrics;
  /** Undefined while tracing is off. */
  readonly tracer?: Tracer | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly strict: boolean;
  readonly signingKeyPolicy?: SigningKeyPolicy | undefined;
  readonly upstreamConnections?: number;
  readonly heldBodies?: HeldBodiesLimits;
  readonly upstreamStreams?: number;
  readonly upstreamMaximumRequests?: number;
}

const UPSTREAM_CONNECTIONS = 256;
const UPSTREAM_STREAMS = 1024;
const UPSTREAM_MAXIMUM_REQUESTS = 1024;
const ACCESS_TOKEN_DEFAULT_SECONDS = 7200;

export type Gateway = ReturnType<typeof createGateway>;

export function createGateway(dependencies: GatewayDependencies) {
  const { identity, now, metrics, publicUrl, routing, tracer } = dependencies;
  const policy = dependencies.signingKeyPolicy;
  const signingKeys = identity.keepSigningKeys('gateway', thisGateway, { now, policy });
  const upstreams = openUpstreams(dependencies);
  metrics.watchUpstreams(upstreams);
  const issueInternalToken = createInternalTokenIssuer({
    issuer: publicUrl,
    signingKey: signingKeys.current,
    now,
  });
  const isTrustedProxy = createAddressMatcher(dependencies.trustedProxies);
  const windowSeconds = identity.replayGuard.longestBindingSeconds(
    dependencies.signatureToleranceMilliseconds,
  );
  const counting = { store: identity.store, now, onRefused: metrics.limited };
  const { observe, recordMalformed } = observeTraffic(dependencies, isTrustedProxy);
  const pipeline = createPipeline(
    {
      ...openRouter(dependencies),
      authenticate: createAuthenticate({
        ...dependencies,
        ...identity,
        signatures: createSignatureBudget({ ...counting, windowSeconds }),
        verifyXAccessToken: identity.xAccessTokens.verify,
        heldBodies: dependencies.heldBodies ?? HELD_BODIES,
        onVerified: metrics.verified,
      }),
      limits: createRequestLimits({
        ...counting,
        client: dependencies.clientRateLimit,
        address: dependencies.addressRateLimit,
        routes: routing.routes,
      }),
      forwarding: createForwarding({ upstreams, issueInternalToken, publicUrl }),
      issueInternalToken,
      forwardAuth: dependencies.forwardAuth === true,
      localOperations: createLocalOperations(dependencies),
      crossOrigin: createCrossOrigin(identity.clients, routing.routes),
      auditFailure: createSignatureAudit(identity),
      signReply: createReplySigner({ ...dependencies, ...identity }),
      isTrustedProxy,
      now,
      tracer,
    },
    observe,
  );
  return {
    ...pipeline,
    recordMalformed,
    /** A readiness check: rejects while no key for internal tokens is available. */
    signingKey: signingKeys.current,
    /** The public keys of internal tokens, for upstreams (RFC 7517 §5). */
    jwks: signingKeys.jwks,
    close: async () => {
      await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
    },
  };
}

/** Routes, and what the gateway serves without a credential. */
function openRouter({ explorer, ...settings }: GatewayDependencies) {
  const { routes } = settings.routing;
  const { entries, metadataUrl } = openPublicDocuments({ ...settings, routes });
  const page = explorer === true ? createExplorer(settings) : [];
  return { router: createRouter<Entry>([...routes, ...entries, ...page]), metadataUrl };
}

/** The operations that the gateway implements itself, by name. */
function createLocalOperations({
  identity,
  now,
  accessTokenMaximumSeconds,
}: GatewayDependencies): ReadonlyMap<string, LocalOperation> {
  const lifetime = {
    defaultSeconds: ACCESS_TOKEN_DEFAULT_SECONDS,
    maximumSeconds: accessTokenMaximumSeconds,
  };
  const issue = createXAccessTokenOperation({ identity, lifetime, now });
  return new Map([[issueAccessTokenOperation, issue]]);
}

function openUpstreams(dependencies: GatewayDependencies): ReadonlyMap<string, Upstream> {
  const { routing, logger, workers = 1 } = dependencies;
  const connections = dependencies.upstreamConnections ?? UPSTREAM_CONNECTIONS;
  const open = (name: string, { url, socketPath, health }: RoutedUpstream) =>
    createUpstream({
      url,
      socketPath,
      health,
      onCircuitChange: (state) =>
        logger.warn({ upstream: name, state }, `upstream circuit ${state}`),
      connections: Math.ceil(connections / workers),
      streamConnections: dependencies.upstreamStreams ?? UPSTREAM_STREAMS,
      maximumRequests: dependencies.upstreamMaximumRequests ?? UPSTREAM_MAXIMUM_REQUESTS,
    });
  return new Map([...routing.upstreams].map(([name, upstream]) => [name, open(name, upstream)]));
}
