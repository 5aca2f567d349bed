import { ApiError } from '@gatehouse/api-envelope';
import type { AccessTokenVerifier } from '@gatehouse/identity';
import { type Authenticator, tokenRefused } from './authenticator.ts';
import { bearerChallenge } from './challenge.ts';

/** Scheme in any case, one space, token68 (RFC 6750 §2.1, RFC 9110 §11.2). */
const BEARER = /^bearer ([A-Za-z0-9._~+/-]+=*)$/i;
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
const SCHEME = /^bearer(?![^\s])/i;
const MAXIMUM_TOKEN_LENGTH = 512;

/** Method C: `Authorization: bearer …` or the query parameter `access_token`. */
export function createBearerTokenAuthenticator(dependencies: {
  readonly verifyAccessToken: AccessTokenVerifier;
  /** False in the strict profile: tokens in URLs end up in logs and histories (RFC 9700 §4.3.2). */
  readonly acceptQueryToken: boolean;
}): Authenticator {
  const { verifyAccessToken, acceptQueryToken } = dependencies;
  return {
    async authenticate({ credentials }) {
      const { authorization, queryToken, query } = credentials;
      if (authorization === undefined && queryToken === undefined) {
        return undefined;
      }
      const token = authorization === undefined ? queryToken : readHeader(authorization);
      const accepted = authorization !== undefined || acceptQueryToken;
      if (!accepted || token === undefined || !isWellFormed(token)) {
        throw tokenRefused();
      }
      const principal = await verifyAccessToken(token);
      if (principal === undefined) {
        throw tokenRefused();
      }
      return { kind: 'bearer', principal, signer: undefined, query, body: undefined };
    },
  };
}

function readHeader(authorization: string): string | undefined {
  if (!SCHEME.test(authorization)) {
    // Another scheme is no bearer credential: the challenge names no error (RFC 6750 §3.1).
    throw new ApiError('unauthorized', { headers: bearerChallenge() });
  }
  return BEARER.exec(authorization)?.[1];
}

function isWellFormed(token: string): boolean {
  return token.length <= MAXIMUM_TOKEN_LENGTH && TOKEN.test(token);
}
