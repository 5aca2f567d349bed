import type { AccessTokenVerifier, FindTokenKind } from '@gatehouse/identity';
import {
  isBearer,
  type PresentedBearer,
  readBearerToken,
  readQueryToken,
} from '@gatehouse/signing';
import { malformedToken, otherScheme, rejectedToken, tokenInQuery } from './rejected-token.ts';
import type { VerifiedRequest } from './verified-request.ts';

/** Method C: `Authorization: bearer …` or the query parameter `access_token`. */
export function createBearerTokenVerifier(dependencies: {
  readonly verifyAccessToken: AccessTokenVerifier;
  readonly findTokenKind: FindTokenKind;
  /** False in the strict profile: tokens in URLs leak into logs and histories (RFC 9700 §4.3.2). */
  readonly acceptQueryToken: boolean;
}) {
  const { verifyAccessToken, findTokenKind, acceptQueryToken } = dependencies;

  function readToken({ place, value }: PresentedBearer): string {
    if (place === 'query' && !acceptQueryToken) {
      throw tokenInQuery();
    }
    const read = place === 'query' ? readQueryToken(value) : readBearerToken(value);
    if ('token' in read) {
      return read.token;
    }
    throw place === 'query' || isBearer(value)
      ? malformedToken(read.mistake)
      : otherScheme(read.mistake);
  }

  return async (credential: PresentedBearer): Promise<VerifiedRequest> => {
    const token = readToken(credential);
    const principal = await verifyAccessToken(token);
    if (principal === undefined) {
      return rejectedToken(token, 'access-token', findTokenKind);
    }
    return {
      kind: 'bearer',
      principal,
      signer: undefined,
      secureKeyId: undefined,
      token: { text: token, verify: verifyAccessToken },
      query: credential.query,
      body: undefined,
    };
  };
}
