import type { Identity } from '@gatehouse/identity';
import {
  type AccessToken,
  type Client,
  type ClientCredentials,
  errors,
  type KoaContextWithOIDC,
  type RefreshToken,
} from 'oidc-provider';

type Token = AccessToken | ClientCredentials | RefreshToken;

/**
 * RFC 7662 §4: tokens are told about to resource servers, and to the client they belong to. A public client
 * has not proven who it is, so it is told nothing.
 */
export function mayIntrospect({ clients }: Identity) {
  return async (_context: KoaContextWithOIDC, client: Client, token: Token): Promise<boolean> => {
    if (client.clientAuthMethod === 'none') {
      throw new errors.InvalidClientAuth('introspection needs client authentication');
    }
    const registered = await clients.find(client.clientId);
    return registered?.resourceServer === true || token.clientId === client.clientId;
  };
}

/** RFC 7009 §2.1: only the client a token was issued to. Another one is told, so that it can be mended. */
export function mayRevoke(_context: KoaContextWithOIDC, client: Client, token: Token): boolean {
  if (token.clientId !== client.clientId) {
    throw new errors.InvalidRequest('this token belongs to another client');
  }
  return true;
}
