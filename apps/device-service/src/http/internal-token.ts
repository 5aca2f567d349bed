import { ApiError, serviceUnavailable } from '@gatehouse/api-envelope';
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';

/** Who a verified internal token speaks for. */
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

/** @throws ApiError `unauthorized`; `service_unavailable` while the gateway's keys cannot be had */
export type VerifyInternalToken = (token: string) => Promise<VerifiedToken>;

export interface InternalTokenVerifier {
  readonly verify: VerifyInternalToken;
  /** Rejects while the gateway's keys were never had: a readiness check. */
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
const MAX_LIFETIME_SECONDS = 60;
/** Between the clock of the gateway's machine and ours. */
const CLOCK_TOLERANCE_SECONDS = 5;

const JWKS_TIMEOUT_MS = SECOND;
/** How often a token with an unknown key may make us ask the gateway again. */
const JWKS_COOLDOWN_MS = 2 * SECOND;

/**
 * Verifies the gateway's internal tokens (RFC 9068 `at+jwt`; checks by RFC 8725: algorithm, type, issuer
 * and audience are all pinned). The keys are fetched at the first token, so start order does not matter.
 */
export function createInternalTokenVerifier(options: InternalTokenOptions): InternalTokenVerifier {
  const remote = createRemoteJWKSet(new URL(options.jwksUrl), {
    timeoutDuration: JWKS_TIMEOUT_MS,
    cooldownDuration: JWKS_COOLDOWN_MS,
  });
  const resolveKey = tellFailuresApart(remote);
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

/** The gateway being away must never look like a bad token, so its failures are told apart here. */
function tellFailuresApart(remote: JWTVerifyGetKey): JWTVerifyGetKey {
  return async (header, token) => {
    try {
      return await remote(header, token);
    } catch (error) {
      const isAboutToken =
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys;
      throw isAboutToken ? error : serviceUnavailable(error);
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
      maxTokenAge: MAX_LIFETIME_SECONDS,
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
    exp - iat > MAX_LIFETIME_SECONDS ||
    !isFilledText(sub) ||
    !isFilledText(jti) ||
    !isFilledText(client_id) ||
    !isFilledText(org) ||
    typeof scope !== 'string'
  ) {
    throw invalidToken(new Error('A claim of the internal token has the wrong form.'));
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
  });
}
