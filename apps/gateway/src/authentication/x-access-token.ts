import type { AccessTokenVerifier, ClientRegistry } from '@gatehouse/identity';
import { assertAllowedAddress } from './allowed-address.ts';
import {
  type AuthenticationRequest,
  type Authenticator,
  tokenRefused,
  type VerifiedRequest,
} from './authenticator.ts';
import { isTokenText } from './token-text.ts';

/**
 * Method B: a token that a signed request obtained. Only the header `X-Access-Token` carries it.
 */
export function createXAccessTokenAuthenticator(dependencies: {
  readonly verifyXAccessToken: AccessTokenVerifier;
  readonly clients: ClientRegistry;
}): Authenticator {
  const { verifyXAccessToken: verify, clients } = dependencies;

  async function verifyToken(
    token: string,
    request: AuthenticationRequest,
  ): Promise<VerifiedRequest> {
    const principal = isTokenText(token) ? await verify(token) : undefined;
    const client = principal && (await clients.find(principal.clientId));
    if (principal === undefined || client === undefined) {
      throw tokenRefused();
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
