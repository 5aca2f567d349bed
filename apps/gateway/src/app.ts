import type { RequestListener } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import {
  canonicalResource,
  type Identity,
  type SigningKey,
  type SigningKeyPolicy,
  withJwtAccessTokens,
} from '@gatehouse/identity';
import {
  createAddressMatcher,
  createRouter,
  type Logger,
  type Router,
  type Tracer,
  type UpgradeListener,
} from '@gatehouse/server';
import { createAuthenticate } from './authentication/authenticate.ts';
import { HELD_BODIES, type HeldBodiesLimits } from './authentication/held-bodies.ts';
import type { GatewayConfiguration } from './config.ts';
import { createExplorer } from './explorer/explorer.ts';
import { createForwarding } from './forwarding/forward.ts';
import { createInternalTokenIssuer } from './forwarding/internal-token.ts';
import { type GatewayMetrics, observeTraffic } from './metrics.ts';
import { createSignatureAudit, thisGateway } from './pipeline/audit.ts';
import { createBrowserSignIn } from './pipeline/browser-sign-in.ts';
import { createCrossOrigin } from './pipeline/cross-origin.ts';
import { createXAccessTokenOperation } from './pipeline/issue-access-token.ts';
import { createRequestLimits, createSignatureBudget } from './pipeline/limits.ts';
import { createPipeline } from './pipeline/pipeline.ts';
import { createReplySigner } from './pipeline/reply-signature.ts';
import { openPublicDocuments } from './routes/public-documents.ts';
import { describeRoutes, type Entry } from './routes/route.ts';
import type { Routing } from './routes/route-file.ts';
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
  const { identity, now, metrics, publicUrl } = dependencies;
  const policy = dependencies.signingKeyPolicy;
  const signingKeys = identity.keepSigningKeys('gateway', thisGateway, { now, policy });
  const shared = openShared(dependencies, signingKeys.current);
  const { issueInternalToken, isTrustedProxy } = shared;
  const { observe, recordMalformed } = observeTraffic(dependencies, isTrustedProxy);

  /** The parts that depend on the routes. */
  function open(routing: Routing, upstreams: Upstreams) {
    const { routes } = routing;
    metrics.addOperations(routes);
    const pipeline = createPipeline(
      {
        ...shared,
        router: openRouter(dependencies, routes),
        limits: createRequestLimits({ ...dependencies, ...identity, routes }),
        forwarding: createForwarding({ upstreams, issueInternalToken, publicUrl }),
        crossOrigin: createCrossOrigin(identity.clients, routes),
      },
      observe,
    );
    return { ...pipeline, routing, upstreams };
  }

  let serving = open(dependencies.routing, openUpstreams(dependencies, dependencies.routing));
  metrics.watchUpstreams(() => serving.upstreams);
  return {
    listener: ((message, response) => serving.listener(message, response)) as RequestListener,
    upgrades: {
      accepts: (message) => serving.upgrades.accepts(message),
      handle: (...upgrade) => serving.upgrades.handle(...upgrade),
    } as UpgradeListener,
    /** Serves new requests with other routes. Running requests keep theirs, and their services. */
    use(routing: Routing): void {
      const former = serving;
      serving = open(routing, openUpstreams(dependencies, routing, former));
      const kept = new Set(serving.upstreams.values());
      for (const upstream of former.upstreams.values()) {
        if (!kept.has(upstream)) {
          closeWhenIdle(upstream);
        }
      }
    },
    recordMalformed,
    /** For operators: whether each upstream answers, and the routes. */
    describe: () => ({
      circuits: Object.fromEntries(
        [...serving.upstreams].map(([name, { circuit }]) => [name, circuit]),
      ),
      routes: describeRoutes(serving.routing.routes),
    }),
    /** A readiness check: rejects while no key for internal tokens is available. */
    signingKey: signingKeys.current,
    /** The public keys of internal tokens, for upstreams (RFC 7517 §5). */
    jwks: signingKeys.jwks,
    close: async () => {
      await Promise.all([...serving.upstreams.values()].map((upstream) => upstream.close()));
    },
  };
}

/** The parts that stay when the routes change. */
function openShared(dependencies: GatewayDependencies, signingKey: () => Promise<SigningKey>) {
  const { identity, now, metrics, publicUrl } = dependencies;
  const windowSeconds = identity.replayGuard.longestBindingSeconds(
    dependencies.signatureToleranceMilliseconds,
  );
  return {
    deviceApi: canonicalResource(publicUrl),
    settings: identity.settings,
    lastUse: identity.lastUse,
    authenticate: createAuthenticate({
      ...dependencies,
      ...identity,
      ...withJwtAccessTokens(identity, dependencies.authorizationServerUrl),
      signatures: createSignatureBudget({ ...dependencies, ...identity, windowSeconds }),
      verifyXAccessToken: identity.xAccessTokens.verify,
      heldBodies: dependencies.heldBodies ?? HELD_BODIES,
    }),
    issueInternalToken: createInternalTokenIssuer({ issuer: publicUrl, signingKey, now }),
    forwardAuth: dependencies.forwardAuth,
    browserSignIn: createBrowserSignIn(dependencies),
    issueXAccessToken: createXAccessTokenOperation(dependencies),
    auditFailure: createSignatureAudit(identity),
    signReply: createReplySigner({ ...dependencies, ...identity }),
    isTrustedProxy: createAddressMatcher(dependencies.trustedProxies),
    verificationDurations: metrics.verificationDurations,
    now,
    tracer: dependencies.tracer,
  };
}

/** Routes, and what the gateway serves without a credential. */
function openRouter(
  { explorer, ...settings }: GatewayDependencies,
  routes: Routing['routes'],
): Router<Entry> {
  const documents = openPublicDocuments({ ...settings, routes });
  const page = explorer ? createExplorer(settings.authorizationServerUrl) : [];
  return createRouter<Entry>([...routes, ...documents, ...page]);
}

type Upstreams = ReadonlyMap<string, Upstream>;

/** @param former the services until now. An unchanged one keeps its connections and its circuit */
function openUpstreams(
  dependencies: GatewayDependencies,
  routing: Routing,
  former?: { readonly routing: Routing; readonly upstreams: Upstreams },
): Upstreams {
  const { logger, workers } = dependencies;
  const capacity = { ...CAPACITY, ...dependencies.capacity };
  const open = (name: string, address: UpstreamAddress) =>
    createUpstream({
      ...address,
      ...capacity,
      onCircuitChange: (state) =>
        logger.warn({ upstream: name, state }, `upstream circuit ${state}`),
      connections: Math.ceil(capacity.connections / workers),
    });
  return new Map(
    [...routing.upstreams].map(([name, address]) => {
      const isUnchanged = isDeepStrictEqual(address, former?.routing.upstreams.get(name));
      const kept = isUnchanged ? former?.upstreams.get(name) : undefined;
      return [name, kept ?? open(name, address)];
    }),
  );
}

const IDLE_CHECK_MILLISECONDS = 1000;

/** Closes a service that no route names, after its last request. */
function closeWhenIdle(upstream: Upstream): void {
  const timer = setInterval(() => {
    const isBusy = Object.values(upstream.load()).some(
      ({ running, pending }) => running + pending > 0,
    );
    if (!isBusy) {
      clearInterval(timer);
      void upstream.close();
    }
  }, IDLE_CHECK_MILLISECONDS).unref();
}
