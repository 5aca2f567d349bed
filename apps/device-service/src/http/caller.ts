import type { IncomingMessage } from 'node:http';
import { ApiError, serviceUnavailable } from '@gatehouse/errors';
import { type MetricsRegistry, observedRequest } from '@gatehouse/server';
import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';

const SECOND = 1000;

const MAXIMUM_LIFETIME_SECONDS = 60;
/** For differences between the clocks of the gateway and this service. */
const CLOCK_TOLERANCE_SECONDS = 5;

const JWKS_TIMEOUT_MILLISECONDS = SECOND;
/** The minimum time between two fetches because of tokens with unknown keys. */
const JWKS_COOLDOWN_MILLISECONDS = 2 * SECOND;

const CACHED_TOKENS = 2000;
const BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.01, 0.05, 0.5] as const;

export type Callers = ReturnType<typeof createCallers>;

/**
 * Authenticates requests. The internal token of the gateway (RFC 9068 `at+jwt`) is the only
 * credential, so a caller that bypasses the gateway cannot authenticate. Algorithm, type, issuer and
 * audience are fixed (RFC 8725). The first token fetches the keys, so the gateway can start later.
 *
 * Verified tokens are cached until they expire, because the gateway sends each token many times.
 * Invalid tokens are not cached, so an attacker cannot evict entries or fill the memory.
 */
export function createCallers(dependencies: {
  readonly issuer: string;
  readonly jwksUrl: string;
  readonly registry: MetricsRegistry;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { issuer, jwksUrl, registry, now } = dependencies;
  const remote = createRemoteJWKSet(new URL(jwksUrl), {
    timeoutDuration: JWKS_TIMEOUT_MILLISECONDS,
    cooldownDuration: JWKS_COOLDOWN_MILLISECONDS,
  });
  // An unavailable gateway is 503, not an invalid token.
  const keys: JWTVerifyGetKey = (header, token) =>
    remote(header, token).catch((error: unknown) => {
      const isAboutToken =
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys;
      throw isAboutToken ? error : serviceUnavailable(error, 'gateway_keys_unavailable');
    });
  const durations = registry.histogram({
    name: 'gatehouse_verification_duration_seconds',
    help: 'Duration of verifying an internal token that was not cached.',
    // Unavailable: the keys of the gateway could not be fetched.
    labels: { credential: ['internal-token'], result: ['accepted', 'refused', 'unavailable'] },
    buckets: BUCKETS_SECONDS,
  });
  const verified = new LRUCache<string, Caller>({ max: CACHED_TOKENS });

  async function verify(token: string): Promise<Caller> {
    const started = performance.now();
    let result = 'accepted';
    try {
      const { payload } = await jwtVerify(token, keys, { ...requirements, issuer });
      return toCaller(claims.parse(payload));
    } catch (error) {
      const isUnavailable = error instanceof ApiError;
      result = isUnavailable ? 'unavailable' : 'refused';
      throw isUnavailable ? error : invalidToken(error);
    } finally {
      durations.of('internal-token', result).observe((performance.now() - started) / SECOND);
    }
  }

  return {
    /**
     * @throws ApiError `unauthorized`; `service_unavailable` if the keys of the gateway are
     * unavailable
     */
    async authenticate(request: IncomingMessage): Promise<Caller> {
      const token = readBearerToken(request);
      let caller = verified.get(token);
      if (caller === undefined || caller.expiresAt <= now()) {
        caller = await verify(token);
        verified.set(token, caller);
      }
      observedRequest(request).notes.clientId = caller.clientId;
      return caller;
    },
    /** A readiness check. Rejects until the keys of the gateway have been fetched. */
    async haveKeys(): Promise<void> {
      if (remote.jwks() === undefined) {
        await remote.reload();
      }
    },
  };
}

/** Node silently ignores a second Authorization header, so this function rejects both. */
function readBearerToken({ headers, rawHeaders }: IncomingMessage): string {
  const token = /^Bearer +([A-Za-z0-9_.-]+)$/i.exec(headers.authorization ?? '')?.[1];
  let found = 0;
  // Not `headersDistinct`, which copies every header.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    found += rawHeaders[index]?.toLowerCase() === 'authorization' ? 1 : 0;
  }
  if (token === undefined || found > 1) {
    throw new ApiError('unauthorized', {
      headers: { 'WWW-Authenticate': 'Bearer' },
      reason: 'internal_token_rejected',
    });
  }
  return token;
}

const requirements = {
  algorithms: ['EdDSA'],
  typ: 'at+jwt',
  audience: 'device-service',
  maxTokenAge: MAXIMUM_LIFETIME_SECONDS,
  clockTolerance: CLOCK_TOLERANCE_SECONDS,
};

const filled = z.string().min(1);

const claims = z
  .object({
    exp: z.number(),
    iat: z.number(),
    sub: filled,
    jti: filled,
    client_id: filled,
    org: filled,
    scope: z.string(),
  })
  .refine(({ exp, iat }) => exp - iat <= MAXIMUM_LIFETIME_SECONDS);

/** The claims of a verified internal token. */
type Caller = ReturnType<typeof toCaller>;

function toCaller({ client_id, org, scope, exp }: z.infer<typeof claims>) {
  return {
    clientId: client_id,
    organizationId: org,
    scopes: new Set(scope.split(' ').filter((token) => token !== '')),
    /** Epoch milliseconds. */
    expiresAt: exp * SECOND,
  };
}

function invalidToken(cause: unknown): ApiError {
  return new ApiError('unauthorized', {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
    cause,
    reason: 'internal_token_rejected',
  });
}
