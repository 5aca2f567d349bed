import Provider, { errors } from 'oidc-provider';
import { isPlatformRequest, platformGrantTypes } from '../../http/platform-requests.ts';

/**
 * What a registered client may not do is `unauthorized_client` (RFC 6749 §4.1.2.1, §5.2); the library says
 * `invalid_request`. Both checks run after the client is known, so the right code can be thrown from them.
 */
export function refuseUnauthorizedClients(provider: Provider): void {
  const client = provider.Client.prototype;
  const { responseTypeAllowed, grantTypeAllowed } = client;

  client.responseTypeAllowed = function responseTypeAllowedOrThrow(type) {
    if (!responseTypeAllowed.call(this, type)) {
      throw new errors.UnauthorizedClient('this client may not use the response_type');
    }
    return true;
  };

  // Elsewhere the library asks to decide, not to check: only the token request's own grant is refused.
  client.grantTypeAllowed = function grantTypeAllowedOrThrow(type) {
    const allowed = grantTypeAllowed.call(this, type);
    const { oidc, req } = Provider.ctx ?? {};
    const isTheRequested = oidc?.route === 'token' && oidc.params?.grant_type === type;
    if (isTheRequested && req && isPlatformRequest(req) && !platformGrantTypes.has(type)) {
      throw new errors.UnsupportedGrantType();
    }
    if (!allowed && isTheRequested) {
      throw new errors.UnauthorizedClient('this client may not use the grant_type');
    }
    return allowed;
  };
}
