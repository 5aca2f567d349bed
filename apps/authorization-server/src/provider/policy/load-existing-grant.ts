import type { ClientRegistry } from '@gatehouse/identity';
import type { Grant, KoaContextWithOIDC } from 'oidc-provider';
import { isDeviceRoute, rememberSessionGrant } from './device-grant.ts';
import { lifetimes } from './lifetimes.ts';

/**
 * The existing grant of the user for the client. A first-party application needs no consent: it
 * gets the requested scopes, within its registered ones.
 */
export function createLoadExistingGrant(clients: ClientRegistry) {
  return async (context: KoaContextWithOIDC): Promise<Grant | undefined> => {
    const { session, client, provider, result } = context.oidc;
    const clientId = client?.clientId ?? '';
    const sessionGrantId = session?.grantIdFor(clientId);
    if (isDeviceRoute(context)) {
      rememberSessionGrant(context, sessionGrantId);
    }
    const known = isDeviceRoute(context) ? undefined : sessionGrantId;
    const grantId = result?.consent?.grantId ?? known;
    const found = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    // New tokens must not outlive their Grant, so a Grant that is too old is requested again.
    const needed = lifetimes.RefreshToken + lifetimes.AuthorizationCode;
    const existing = (found?.remainingTTL ?? 0) > needed ? found : undefined;
    const accountId = context.oidc.account?.accountId;
    if (existing !== undefined && existing.accountId !== accountId) {
      return undefined;
    }
    if ((await clients.find(clientId))?.firstParty !== true || accountId === undefined) {
      return existing;
    }
    const grant = existing ?? new provider.Grant({ accountId, clientId });
    grant.addOIDCScope([...context.oidc.requestParamOIDCScopes].join(' '));
    grant.addOIDCClaims([...context.oidc.requestParamClaims]);
    await grant.save();
    return grant;
  };
}
