/**
 * The resource gateway: it checks every call (signature, access token or bearer token) and hands it to the
 * service behind its route.
 *
 *   routes/ ─▶ pipeline/ ─▶ authentication/ ─▶ forwarding/ ─▶ sealing/        config.ts and main.ts make it a process
 *
 * Everything is put together here. Deliberately not here: issuing credentials (the authorization server)
 * and whose device it is (the device service).
 */
import type { RequestListener } from 'node:http';
import { type Logger, observeRequests } from '@gatehouse/http-server';
import {
  type Identity,
  keepSigningKeys,
  type SigningKey,
  type SigningKeyPolicy,
} from '@gatehouse/identity';
import { createAccessTokenAuthenticator } from './authentication/access-token.ts';
import { createAddressMatcher } from './authentication/address.ts';
import { createBearerTokenAuthenticator } from './authentication/bearer-token.ts';
import { createSignedRequestAuthenticator } from './authentication/signed-request.ts';
import { createForwarder } from './forwarding/forward.ts';
import { createInternalTokenIssuer } from './forwarding/internal-token.ts';
import { createUpstream } from './forwarding/upstream.ts';
import { deviceService } from './forwarding/upstream-names.ts';
import { createRequestHandler } from './pipeline/handle-request.ts';
import { deviceRoutes } from './routes/device-routes.ts';
import type { Route } from './routes/route.ts';
import { createRouteTable } from './routes/route-table.ts';
import { SIGNED_REPLY_LIMIT_BYTES } from './sealing/seal-reply.ts';

export interface GatewayDependencies {
  readonly identity: Identity;
  readonly logger: Logger;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly publicUrl: string;
  readonly deviceServiceUrl: string;
  readonly trustedProxies: readonly string[];
  readonly signatureToleranceMilliseconds: number;
  readonly strict: boolean;
  readonly signingKeyPolicy?: SigningKeyPolicy | undefined;
  readonly routes?: readonly Route[];
  readonly upstreamConnections?: number;
  readonly upstreamMaximumRequests?: number;
}

export interface Gateway {
  readonly listener: RequestListener;
  /** What the services behind verify internal tokens with (RFC 7517 §5). */
  jwks(): Promise<{ readonly keys: readonly SigningKey['publicJwk'][] }>;
  close(): Promise<void>;
}

const UPSTREAM_CONNECTIONS = 256;
const UPSTREAM_MAXIMUM_REQUESTS = 1024;

export function createGateway(dependencies: GatewayDependencies): Gateway {
  const { identity, now, strict, publicUrl } = dependencies;
  const { clients, replayGuard, verifyAccessToken } = identity;
  const signingKeys = keepSigningKeys('gateway', 'EdDSA', {
    ...identity,
    now,
    ...(dependencies.signingKeyPolicy && { policy: dependencies.signingKeyPolicy }),
    onMade: (kid) =>
      identity.audit.record(
        { event: 'signing_key_made', purpose: 'gateway', kid },
        { actor: 'gateway' },
      ),
  });
  const upstream = createUpstream({
    url: dependencies.deviceServiceUrl,
    connections: dependencies.upstreamConnections ?? UPSTREAM_CONNECTIONS,
    maximumRequests: dependencies.upstreamMaximumRequests ?? UPSTREAM_MAXIMUM_REQUESTS,
  });
  const toleranceMilliseconds = dependencies.signatureToleranceMilliseconds;

  const handler = createRequestHandler({
    routes: createRouteTable(dependencies.routes ?? deviceRoutes),
    authenticators: [
      createSignedRequestAuthenticator({
        clients,
        replayGuard,
        now,
        toleranceMilliseconds,
        strict,
      }),
      createAccessTokenAuthenticator(),
      createBearerTokenAuthenticator({ verifyAccessToken, acceptQueryToken: !strict }),
    ],
    forward: createForwarder({
      upstreams: new Map([[deviceService, upstream]]),
      issueInternalToken: createInternalTokenIssuer({
        issuer: publicUrl,
        signingKey: signingKeys.current,
        now,
      }),
      publicUrl,
    }),
    isTrustedProxy: createAddressMatcher(dependencies.trustedProxies),
    now,
    signedReplyLimitBytes: SIGNED_REPLY_LIMIT_BYTES,
  });
  return {
    listener: observeRequests(handler, dependencies.logger),
    jwks: signingKeys.jwks,
    close: () => upstream.close(),
  };
}
