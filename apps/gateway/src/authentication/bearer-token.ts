import type { AccessTokenVerifier, FindTokenKind } from '@gatehouse/identity';
import {
  isBearer,
  type PresentedCredentials,
  readBearerToken,
  readQueryToken,
} from '@gatehouse/signing';
import type { Authenticator, VerifiedRequest } from './authenticator.ts';
import { malformedToken, otherScheme, rejectedToken, tokenInQuery } from './rejected-token.ts';

/** Method C: `Authorization: bearer …` or the query parameter `access_token`. */
export function createBearerTokenAuthenticator(dependencies: {
  readonly verifyAccessToken: AccessTokenVerifier;
  readonly findTokenKind: FindTokenKind;
  /** False in the strict profile: tokens in URLs leak into logs and histories (RFC 9700 §4.3.2). */
  readonly acceptQueryToken: boolean;
}): Authenticator {
  const { verifyAccessToken, findTokenKind, acceptQueryToken } = dependencies;

  function verifyToken(credentials: PresentedCredentials): Promise<VerifiedRequest> {
    const token = readToken(credentials);
    return verifyAccessToken(token).then((principal) => {
      if (principal === undefined) {
        return rejectedToken(token, 'access-token', findTokenKind);
      }
      return {
        kind: 'bearer',
        principal,
        signer: undefined,
        secureKeyId: undefined,
        token: { text: token, verify: verifyAccessToken },
        query: credentials.query,
        body: undefined,
      };
    });
  }

  function readToken({ authorization, queryToken = '' }: PresentedCredentials): string {
    if (authorization === undefined && !acceptQueryToken) {
      throw tokenInQuery();
    }
    const read =
      authorization === undefined ? readQueryToken(queryToken) : readBearerToken(authorization);
    if ('token' in read) {
      return read.token;
    }
    throw authorization === undefined || isBearer(authorization)
      ? malformedToken(read.mistake)
      : otherScheme(read.mistake);
  }

  return {
    authenticate({ credentials }) {
      const { authorization, queryToken } = credentials;
      const isPresented = authorization !== undefined || queryToken !== undefined;
      return isPresented ? verifyToken(credentials) : undefined;
    },
  };
}
