import { ApiError, serviceUnavailable } from '@gatehouse/errors';
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';

/** The claims of a verified internal token. */
export interface Caller {
  readonly subject: string;
  readonly clientId: string;
  readonly organizationId: string;
  readonly scopes: ReadonlySet<string>;
}

export interface VerifiedToken {
  readonly caller: Caller;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/**
 * @throws ApiError `unauthorized`; `service_unavailable` if the keys of the gateway are unavailable
 */
export type VerifyInternalToken = (token: string) => Promise<VerifiedToken>;

export interface InternalTokenVerifier {
  readonly verify: VerifyInternalToken;
  /** A readiness check. Rejects until the keys of the gateway have been fetched. */
  haveKeys(): Promise<void>;
}

export interface InternalTokenOptions {
  readonly issuer: string;
  readonly jwksUrl: string;
}

const SECOND = 1000;

const AUDIENCE = 'device-service';
const ALGORITHM = 'EdDSA';
const TOKEN_TYPE = 'at+jwt';
const MAXIMUM_LIFETIME_SECONDS = 60;
/** For differences between the clocks of the gateway and this service. */
const CLOCK_TOLERANCE_SECONDS = 5;

const JWKS_TIMEOUT_MILLISECONDS = SECOND;
/** The minimum time between two fetches because of tokens with unknown keys. */
const JWKS_COOLDOWN_MILLISECONDS = 2 * SECOND;

/**
 * Verifies internal tokens of the gateway (RFC 9068 `at+jwt`), with fixed algorithm, type, issuer
 * and audience (RFC 8725). The first token fetches the keys, so the gateway can start later.
 */
export function createInternalTokenVerifier(options: InternalTokenOptions): InternalTokenVerifier {
  const remote = createRemoteJWKSet(new URL(options.jwksUrl), {
    timeoutDuration: JWKS_TIMEOUT_MILLISECONDS,
    cooldownDuration: JWKS_COOLDOWN_MILLISECONDS,
  });
  const resolveKey = separateFailures(remote);
  return {
    async verify(token) {
      const payload = await verifySignatureAndClaims(token, resolveKey, options.issuer);
      return toVerifiedToken(payload);
    },
    async haveKeys() {
      if (remote.jwks() === undefined) {
        await remote.reload();
      }
    },
  };
}

/** An unavailable gateway is 503, not an invalid token. */
function separateFailures(remote: JWTVerifyGetKey): JWTVerifyGetKey {
  return async (header, token) => {
    try {
      return await remote(header, token);
    } catch (error) {
      const isAboutToken =
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys;
      throw isAboutToken ? error : serviceUnavailable(error, 'gateway_keys_unavailable');
    }
  };
}

async function verifySignatureAndClaims(
  token: string,
  resolveKey: JWTVerifyGetKey,
  issuer: string,
): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, resolveKey, {
      algorithms: [ALGORITHM],
      typ: TOKEN_TYPE,
      issuer,
      audience: AUDIENCE,
      maxTokenAge: MAXIMUM_LIFETIME_SECONDS,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['exp', 'sub', 'jti', 'client_id', 'org', 'scope'],
    });
    return payload;
  } catch (error) {
    throw error instanceof ApiError ? error : invalidToken(error);
  }
}

function toVerifiedToken(payload: JWTPayload): VerifiedToken {
  const { exp = Number.POSITIVE_INFINITY, iat = 0, sub, jti, client_id, org, scope } = payload;
  if (
    exp - iat > MAXIMUM_LIFETIME_SECONDS ||
    !isFilledText(sub) ||
    !isFilledText(jti) ||
    !isFilledText(client_id) ||
    !isFilledText(org) ||
    typeof scope !== 'string'
  ) {
    throw invalidToken(new Error('A claim of the internal token is invalid.'));
  }
  const scopes = new Set(scope.split(' ').filter((token) => token !== ''));
  return {
    caller: { subject: sub, clientId: client_id, organizationId: org, scopes },
    expiresAt: exp * SECOND,
  };
}

function isFilledText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function invalidToken(cause: unknown): ApiError {
  return new ApiError('unauthorized', {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
    cause,
    reason: 'internal_token_rejected',
  });
}
