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
 * RFC 7662 §4: resource servers may introspect every token, and a client its own tokens. A public
 * client is not authenticated, so it may introspect nothing.
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

/**
 * RFC 7009 §2.1: only the client that a token was issued to may revoke it. Other clients get an
 * error. A public client is not authenticated, so it gets the reply for an unknown token (§2.2).
 * Otherwise, anyone could find out whether a token is valid.
 */
export function mayRevoke(_context: KoaContextWithOIDC, client: Client, token: Token): boolean {
  if (token.clientId !== client.clientId) {
    if (client.clientAuthMethod === 'none') {
      return false;
    }
    throw new errors.InvalidRequest('this token belongs to another client');
  }
  return true;
}
