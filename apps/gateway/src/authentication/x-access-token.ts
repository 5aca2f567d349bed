import type { AccessTokenVerifier, ClientRegistry, FindTokenKind } from '@gatehouse/identity';
import { readXAccessToken } from '@gatehouse/signing';
import { malformedToken, rejectedToken } from './rejected-token.ts';
import {
  type AuthenticationRequest,
  assertAllowedAddress,
  type VerifiedRequest,
} from './verified-request.ts';

/**
 * Method B: a token that a signed request obtained. Only the header `X-Access-Token` carries it.
 */
export function createXAccessTokenVerifier(dependencies: {
  readonly verifyXAccessToken: AccessTokenVerifier;
  readonly findTokenKind: FindTokenKind;
  readonly clients: ClientRegistry;
}) {
  const { verifyXAccessToken: verify, findTokenKind, clients } = dependencies;
  return async (request: AuthenticationRequest, value: string): Promise<VerifiedRequest> => {
    const read = readXAccessToken(value);
    if ('mistake' in read) {
      throw malformedToken(read.mistake);
    }
    const { token } = read;
    const principal = await verify(token);
    const client = principal && (await clients.find(principal.clientId));
    if (principal === undefined || client === undefined) {
      return rejectedToken(token, 'x-access-token', findTokenKind);
    }
    assertAllowedAddress(client, request.clientAddress);
    return {
      kind: 'access-token',
      principal,
      signer: undefined,
      secureKeyId: undefined,
      token: { text: token, verify },
      query: request.credential.query,
      body: undefined,
    };
  };
}
