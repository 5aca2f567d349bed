import { identityScopes } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import { errors, type KoaContextWithOIDC, type RefreshToken } from 'oidc-provider';
import type { SecurityProfile } from '../provider/clients.ts';
import { wrapRefreshTokenGrant } from '../provider/patches.ts';
import { resolveScope } from '../provider/request-parameters.ts';
import { requestedResource, settleResources } from '../provider/resources.ts';
import { contextOf } from '../requests/request-context.ts';
import { authenticatedClient, type GrantDependencies, issueTokens } from './issue-tokens.ts';

const MACHINE = 'client_credentials';

/**
 * RFC 6749 §4.4. The library's handler grants nothing when a machine names no scope, and grants
 * scopes that need a user. This handler grants the registered device scopes and returns the granted
 * scope. At the platform endpoint, a client that may refresh also gets a refresh token.
 */
export function registerClientCredentials(
  provider: Provider,
  { securityProfile, identity }: GrantDependencies,
): void {
  const issue = async (context: KoaContextWithOIDC) => {
    const client = authenticatedClient(context);
    const resource = await requestedResource(context, identity);
    const registered = settleResources(context);
    const scope = machineScope(registered, context.oidc.params?.scope, securityProfile);
    if (contextOf(context.req).isPlatform && client.grantTypeAllowed('refresh_token')) {
      await issueTokens(provider, context, { gty: MACHINE, scope, resource });
      return;
    }
    const token = new provider.ClientCredentials({ client, scope, resourceServer: resource });
    context.oidc.entity('ClientCredentials', token);
    context.body = {
      access_token: await token.save(),
      token_type: token.tokenType,
      expires_in: token.expiration,
      scope,
    };
  };
  provider.registerGrantType(MACHINE, issue, ['scope', 'resource'], ['resource']);
}

/**
 * The scope a machine gets.
 *
 * @param registered the scopes that the client has at the resource of the request
 * @throws InvalidScope when no requested scope is registered for the client, or all of them need a
 * user
 */
export function machineScope(
  registered: readonly string[],
  requested: unknown,
  securityProfile: SecurityProfile,
): string {
  return resolveScope({ requested, registered, excluded: identityScopes, securityProfile });
}

/**
 * At the platform endpoint, this redeems the refresh tokens of machines, and the library redeems
 * all others: its handler requires an account. Single use, rotation, derivation and lifetime come
 * from the library's models and the adapter, as for every other refresh token.
 */
export function registerMachineRefresh(provider: Provider, { identity }: GrantDependencies): void {
  wrapRefreshTokenGrant(provider, async (context, handler) => {
    const value = context.oidc.params?.refresh_token;
    // Finds no expired or revoked token. The library rejects those, and a machine's at /token.
    const token =
      contextOf(context.req).isPlatform && typeof value === 'string'
        ? await provider.RefreshToken.find(value)
        : undefined;
    return token !== undefined && token.accountId === undefined
      ? refresh(provider, context, token, identity)
      : handler(context);
  });
}

/** The library's checks, in its order (RFC 6749 §6), without the account. */
async function refresh(
  provider: Provider,
  context: KoaContextWithOIDC,
  token: RefreshToken & { readonly consumed?: unknown },
  identity: GrantDependencies['identity'],
): Promise<void> {
  const { clientId, grantId = '', scope = '', iiat } = token;
  if (clientId !== authenticatedClient(context).clientId) {
    throw new errors.InvalidGrant('client mismatch');
  }
  const grant = await provider.Grant.find(grantId);
  if (grant === undefined) {
    throw new errors.InvalidGrant('grant not found');
  }
  const resource = await requestedResource(context, identity, token.resource);
  const requested = new Set(String(context.oidc.params?.scope ?? scope).split(' '));
  const rejected = [...requested].find((each) => !token.scopes.has(each));
  if (rejected !== undefined) {
    throw new errors.InvalidScope('refresh token missing requested scope', rejected);
  }
  if (token.consumed) {
    await grant.destroy();
    throw new errors.InvalidGrant('refresh token already used');
  }
  context.oidc.entity('RefreshToken', token);
  await token.adapter.consume(token.jti);
  context.oidc.entity('RotatedRefreshToken', token);
  const family = { grantId, scope, iiat };
  await issueTokens(provider, context, {
    gty: MACHINE,
    scope: [...requested].join(' '),
    resource,
    family,
  });
}
