import {
  canonicalResource,
  type Identity,
  type SigningKeyPolicy,
  withJwtAccessTokens,
} from '@gatehouse/identity';
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
import { createXAccessTokenOperation } from './pipeline/issue-access-token.ts';
import { createRequestLimits, createSignatureBudget } from './pipeline/limits.ts';
import { createPipeline } from './pipeline/pipeline.ts';
import { createReplySigner } from './pipeline/reply-signature.ts';
import { openPublicDocuments } from './routes/public-documents.ts';
import type { Entry } from './routes/route.ts';
import { createUpstream, type Upstream, type UpstreamAddress } from './upstream/upstream.ts';

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
  | 'forwardAuth'
  | 'explorer'
  | 'workers'
>;

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
  readonly heldBodies?: HeldBodiesLimits;
  /** Of each upstream. */
  readonly capacity?: Partial<typeof CAPACITY>;
}

const CAPACITY = { connections: 256, streamConnections: 1024, maximumRequests: 1024 };

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
      router: openRouter(dependencies),
      deviceApi: canonicalResource(publicUrl),
      settings: identity.settings,
      authenticate: createAuthenticate({
        ...dependencies,
        ...identity,
        ...withJwtAccessTokens(identity, dependencies.authorizationServerUrl),
        signatures: createSignatureBudget({ ...counting, windowSeconds }),
        verifyXAccessToken: identity.xAccessTokens.verify,
        heldBodies: dependencies.heldBodies ?? HELD_BODIES,
      }),
      limits: createRequestLimits({
        ...counting,
        client: dependencies.clientRateLimit,
        address: dependencies.addressRateLimit,
        routes: routing.routes,
      }),
      forwarding: createForwarding({ upstreams, issueInternalToken, publicUrl }),
      issueInternalToken,
      forwardAuth: dependencies.forwardAuth,
      issueXAccessToken: createXAccessTokenOperation(dependencies),
      crossOrigin: createCrossOrigin(identity.clients, routing.routes),
      auditFailure: createSignatureAudit(identity),
      signReply: createReplySigner({ ...dependencies, ...identity }),
      isTrustedProxy,
      verificationDurations: metrics.verificationDurations,
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
  const documents = openPublicDocuments({ ...settings, routes });
  const page = explorer ? createExplorer(settings.authorizationServerUrl) : [];
  return createRouter<Entry>([...routes, ...documents, ...page]);
}

function openUpstreams(dependencies: GatewayDependencies): ReadonlyMap<string, Upstream> {
  const { routing, logger, workers } = dependencies;
  const capacity = { ...CAPACITY, ...dependencies.capacity };
  const open = (name: string, address: UpstreamAddress) =>
    createUpstream({
      ...address,
      ...capacity,
      onCircuitChange: (state) =>
        logger.warn({ upstream: name, state }, `upstream circuit ${state}`),
      connections: Math.ceil(capacity.connections / workers),
    });
  return new Map([...routing.upstreams].map(([name, upstream]) => [name, open(name, upstream)]));
}
