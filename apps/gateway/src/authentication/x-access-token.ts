import type { AccessTokenVerifier, ClientRegistry, FindTokenKind } from '@gatehouse/identity';
import { readXAccessToken } from '@gatehouse/signing';
import { assertAllowedAddress } from './allowed-address.ts';
import type { AuthenticationRequest, Authenticator, VerifiedRequest } from './authenticator.ts';
import { malformedToken, rejectedToken } from './rejected-token.ts';

/**
 * Method B: a token that a signed request obtained. Only the header `X-Access-Token` carries it.
 */
export function createXAccessTokenAuthenticator(dependencies: {
  readonly verifyXAccessToken: AccessTokenVerifier;
  readonly findTokenKind: FindTokenKind;
  readonly clients: ClientRegistry;
}): Authenticator {
  const { verifyXAccessToken: verify, findTokenKind, clients } = dependencies;

  async function verifyToken(
    value: string,
    request: AuthenticationRequest,
  ): Promise<VerifiedRequest> {
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
      query: request.credentials.query,
      body: undefined,
    };
  }

  return {
    authenticate(request) {
      const { accessToken } = request.credentials;
      return accessToken === undefined ? undefined : verifyToken(accessToken, request);
    },
  };
}
