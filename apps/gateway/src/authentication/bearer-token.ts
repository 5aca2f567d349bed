import { ApiError } from '@gatehouse/api-envelope';
import type { AccessTokenVerifier } from '@gatehouse/identity';
import type { PresentedCredentials } from '@gatehouse/request-reading';
import { type Authenticator, tokenRefused, type VerifiedRequest } from './authenticator.ts';
import { bearerChallenge } from './challenge.ts';
import { isTokenText } from './token-text.ts';

/** The scheme in any case, then exactly one space (RFC 6750 §2.1). */
const BEARER = /^bearer (\S+)$/i;
const SCHEME = /^bearer(?![^\s])/i;

/** Method C: `Authorization: bearer …` or the query parameter `access_token`. */
export function createBearerTokenAuthenticator(dependencies: {
  readonly verifyAccessToken: AccessTokenVerifier;
  /** False in the strict profile: tokens in URLs leak into logs and histories (RFC 9700 §4.3.2). */
  readonly acceptQueryToken: boolean;
}): Authenticator {
  const { verifyAccessToken, acceptQueryToken } = dependencies;

  function verifyToken(credentials: PresentedCredentials): Promise<VerifiedRequest> {
    const { authorization, queryToken, query } = credentials;
    const token = authorization === undefined ? queryToken : readHeader(authorization);
    const accepted = authorization !== undefined || acceptQueryToken;
    if (!accepted || token === undefined || !isTokenText(token)) {
      throw tokenRefused();
    }
    return verifyAccessToken(token).then((principal) => {
      if (principal === undefined) {
        throw tokenRefused();
      }
      return {
        kind: 'bearer',
        principal,
        signer: undefined,
        secureKeyId: undefined,
        token: { text: token, verify: verifyAccessToken },
        query,
        body: undefined,
      };
    });
  }

  return {
    authenticate({ credentials }) {
      const { authorization, queryToken } = credentials;
      const isBearer = authorization !== undefined || queryToken !== undefined;
      return isBearer ? verifyToken(credentials) : undefined;
    },
  };
}

function readHeader(authorization: string): string | undefined {
  if (!SCHEME.test(authorization)) {
    // Another scheme is not a bearer credential, so the challenge has no error (RFC 6750 §3.1).
    throw new ApiError('unauthorized', { headers: bearerChallenge() });
  }
  return BEARER.exec(authorization)?.[1];
}
