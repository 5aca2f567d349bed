/**
 * The resource gateway: it verifies the credential of every request (signature, X-Access-Token or
 * access token) and forwards the request to the upstream of its route.
 *
 *   routes/ ─▶ pipeline/ ─▶ authentication/ ─▶ rate-limits/ ─▶ forwarding/ ─▶ upstream/ ─▶ sealing/
 *                                                       ├▶ x-access-tokens/
 *                                                       └▶ forward-auth/ (another proxy forwards)
 *   All stages use http/. Next to the stages: audit/, metrics/, tracing/, cross-origin/ (CORS),
 *   public-documents/ (RFC 9728, OpenAPI) and explorer/ (a page for developers). config.ts and main.ts
 *   turn the gateway into a process.
 *
 * This file is the composition root. Deliberately not here: issuing OAuth credentials
 * (authorization server) and the ownership of devices (device service).
 */
import type { RequestListener } from 'node:http';
import {
  createRegisteredOrigins,
  createRevocationCanary,
  createXAccessTokens,
  type Identity,
  keepSigningKeys,
  longestBindingSeconds,
  type SigningKey,
  type SigningKeyPolicy,
  type XAccessTokens,
} from '@gatehouse/identity';
import {
  createAddressMatcher,
  createRouter,
  type Logger,
  type RequestRecorder,
  type Tracer,
  type UpgradeListener,
} from '@gatehouse/server';
import type { RateLimit } from '@gatehouse/store';
import { thisGateway } from './audit/request-origin.ts';
import { createSignatureAudit } from './audit/signature-audit.ts';
import { createAuthenticators } from './authentication/create-authenticators.ts';
import { HELD_BODIES, type HeldBodiesLimits } from './authentication/held-bodies.ts';
import { shareInFlight } from './authentication/share-in-flight.ts';
import { createCrossOrigin } from './cross-origin/cross-origin.ts';
import { createExplorer } from './explorer/explorer.ts';
import { createForwardAuth } from './forward-auth/forward-auth.ts';
import { createForwarder } from './forwarding/forward.ts';
import { createUpgradeForwarder } from './forwarding/forward-upgrade.ts';
import { createInternalTokenIssuer } from './forwarding/internal-token.ts';
import type { GatewayMetrics } from './metrics/gateway-metrics.ts';
import { observeAuthenticator } from './metrics/observe-authenticator.ts';
import { observeTraffic } from './metrics/observe-traffic.ts';
import { watchRevocations } from './metrics/watch-revocations.ts';
import { createRequestHandler } from './pipeline/handle-request.ts';
import { createUpgradeHandler, type UpgradeDependencies } from './pipeline/handle-upgrade.ts';
import type { LocalOperation } from './pipeline/local-operation.ts';
import { openPublicDocuments } from './public-documents/open-public-documents.ts';
import { createRequestLimits, createSignatureBudget } from './rate-limits/request-limits.ts';
import { issueAccessTokenOperation } from './routes/device-routes.ts';
import type { Entry } from './routes/entries.ts';
import type { RoutedUpstream, Routing } from './routes/route-file.ts';
import { claimReplies } from './sealing/claim-replies.ts';
import { createReplySealer, SIGNED_REPLY_LIMIT_BYTES } from './sealing/seal-reply.ts';
import { traceStages } from './tracing/trace-stages.ts';
import { createUpstream, type Upstream } from './upstream/upstream.ts';
import { createXAccessTokenOperation } from './x-access-tokens/issue-x-access-token.ts';

export interface GatewayDependencies {
  readonly identity: Identity;
  readonly logger: Logger;
  readonly metrics: GatewayMetrics;
  /** Undefined while tracing is off. */
  readonly tracer?: Tracer | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  readonly routing: Routing;
  readonly trustedProxies: readonly string[];
  /** Answers other proxies at `/_verify`. */
  readonly forwardAuth?: boolean;
  /** Serves the API explorer at `/explorer`. */
  readonly explorer?: boolean;
  readonly signatureToleranceMilliseconds: number;
  readonly clientRateLimit: RateLimit;
  readonly addressRateLimit: RateLimit;
  readonly accessTokenMaximumSeconds: number;
  readonly strict: boolean;
  readonly signingKeyPolicy?: SigningKeyPolicy | undefined;
  /** Processes that share the connections to upstreams. */
  readonly workers?: number;
  readonly upstreamConnections?: number;
  readonly heldBodies?: HeldBodiesLimits;
  readonly upstreamStreams?: number;
  readonly upstreamMaximumRequests?: number;
}

export interface Gateway {
  readonly listener: RequestListener;
  readonly upgrades: UpgradeListener;
  readonly recordMalformed: RequestRecorder['recordMalformed'];
  /** A readiness check: rejects while no key for internal tokens is available. */
  signingKey(): Promise<unknown>;
  /** The public keys of internal tokens, for upstreams (RFC 7517 §5). */
  jwks(): Promise<{ readonly keys: readonly SigningKey['publicJwk'][] }>;
  close(): Promise<void>;
}

const UPSTREAM_CONNECTIONS = 256;
const UPSTREAM_STREAMS = 1024;
const UPSTREAM_MAXIMUM_REQUESTS = 1024;
const ACCESS_TOKEN_DEFAULT_SECONDS = 7200;

export function createGateway(dependencies: GatewayDependencies): Gateway {
  const { identity, now, metrics, publicUrl, routing, tracer } = dependencies;
  const signingKeys = openSigningKeys(dependencies);
  const upstreams = openUpstreams(dependencies);
  metrics.watchUpstreams(upstreams);
  const tokens = openTokens(dependencies);
  const forwarding = {
    upstreams,
    issueInternalToken: createInternalTokenIssuer({
      issuer: publicUrl,
      signingKey: signingKeys.current,
      now,
    }),
    publicUrl,
  };
  const isTrustedProxy = createAddressMatcher(dependencies.trustedProxies);
  const windowSeconds = longestBindingSeconds(dependencies.signatureToleranceMilliseconds);
  const counting = { store: identity.store, now, onRefused: metrics.limited };
  const stages: UpgradeDependencies = {
    authenticators: createAuthenticators({
      ...dependencies,
      ...identity,
      signatures: createSignatureBudget({ ...counting, windowSeconds }),
      verifyAccessToken: tokens.verifyAccessToken,
      verifyXAccessToken: shareInFlight(tokens.xAccessTokens.verify),
      heldBodies: dependencies.heldBodies ?? HELD_BODIES,
      observe: (kind, authenticator) => observeAuthenticator(kind, authenticator, metrics.verified),
    }),
    limits: createRequestLimits({
      ...counting,
      client: dependencies.clientRateLimit,
      address: dependencies.addressRateLimit,
      routes: routing.routes,
    }),
    forward: createForwarder(forwarding),
    forwardUpgrade: createUpgradeForwarder(forwarding),
    forwardAuth:
      dependencies.forwardAuth === true
        ? createForwardAuth({ ...forwarding, isTrustedProxy })
        : undefined,
    localOperations: createLocalOperations(dependencies, tokens.xAccessTokens),
    ...openRouter(dependencies),
    crossOrigin: createCrossOrigin({
      registeredOrigins: createRegisteredOrigins(identity.clients, now),
      clients: identity.clients,
      routes: routing.routes,
    }),
    auditFailure: createSignatureAudit(identity),
    isTrustedProxy,
    now,
    sealReply: createReplySealer({
      now,
      limitBytes: SIGNED_REPLY_LIMIT_BYTES,
      claim: claimReplies({ ...dependencies, ...identity }),
    }),
  };
  const pipeline = traceStages(stages, tracer);
  const { observe, recordMalformed } = observeTraffic(dependencies, isTrustedProxy);
  return {
    listener: observe(createRequestHandler(pipeline)),
    upgrades: createUpgradeHandler(pipeline, observe),
    recordMalformed,
    signingKey: signingKeys.current,
    jwks: signingKeys.jwks,
    close: async () => {
      tokens.stopCanary();
      await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
    },
  };
}

/**
 * Creates token verifiers, and a canary that measures on the same path how fast revocations apply.
 */
function openTokens({ identity, now, metrics }: GatewayDependencies) {
  const verifyAccessToken = shareInFlight(identity.verifyAccessToken);
  const canary = createRevocationCanary({ ...identity, verify: verifyAccessToken, now });
  return {
    verifyAccessToken,
    xAccessTokens: createXAccessTokens({ ...identity, now }),
    stopCanary: watchRevocations(canary, metrics.revocations),
  };
}

/** Routes, and what the gateway serves without a credential. */
function openRouter({ explorer, identity, ...settings }: GatewayDependencies) {
  const { routes } = settings.routing;
  const { openApi, entries, metadataUrl } = openPublicDocuments({ ...settings, routes });
  const { clients } = identity;
  const page = explorer === true ? createExplorer({ ...settings, clients, openApi }) : [];
  return { router: createRouter<Entry>([...routes, ...entries, ...page]), metadataUrl };
}

/** The operations that the gateway implements itself, by name. */
function createLocalOperations(
  { identity, now, accessTokenMaximumSeconds }: GatewayDependencies,
  xAccessTokens: XAccessTokens,
): ReadonlyMap<string, LocalOperation> {
  const lifetime = {
    defaultSeconds: ACCESS_TOKEN_DEFAULT_SECONDS,
    maximumSeconds: accessTokenMaximumSeconds,
  };
  const issue = createXAccessTokenOperation({
    xAccessTokens,
    audit: identity.audit,
    lifetime,
    now,
  });
  return new Map([[issueAccessTokenOperation, issue]]);
}

function openSigningKeys(dependencies: GatewayDependencies) {
  const { identity, now, signingKeyPolicy } = dependencies;
  return keepSigningKeys('gateway', 'EdDSA', {
    ...identity,
    now,
    ...(signingKeyPolicy && { policy: signingKeyPolicy }),
    onMade: (kid) =>
      identity.audit.record({ event: 'signing_key_made', purpose: 'gateway', kid }, thisGateway),
  });
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
