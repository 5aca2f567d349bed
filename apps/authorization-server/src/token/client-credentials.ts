import { identityScopes } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import type { Client, ClientCredentials, KoaContextWithOIDC } from 'oidc-provider';
import type { Grant, SecurityProfile } from '../provider/clients.ts';
import { authenticatedClient } from '../provider/library.ts';
import { resolveScope } from '../provider/scopes.ts';
import { contextOf } from '../requests/request-context.ts';
import { issueMachineTokens } from './machine-refresh.ts';

export interface ClientCredentialsReply {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope: string;
}

/**
 * RFC 6749 §4.4. The library's handler grants nothing when a machine names no scope, and grants
 * scopes that need a user. This handler grants the registered device scopes and returns the granted
 * scope. At the platform endpoint, a client that may refresh also gets a refresh token.
 */
export const clientCredentials: Grant = {
  isOfPlatform: true,
  register(provider, { securityProfile }) {
    provider.registerGrantType(
      'client_credentials',
      (context) => issueClientCredentials(provider, context, securityProfile),
      ['scope'],
    );
  },
};

async function issueClientCredentials(
  provider: Provider,
  context: KoaContextWithOIDC,
  securityProfile: SecurityProfile,
): Promise<void> {
  const client = authenticatedClient(context);
  const scope = machineScope(client, context.oidc.params?.scope, securityProfile);
  if (contextOf(context.req).isPlatform && client.grantTypeAllowed('refresh_token')) {
    await issueMachineTokens(provider, context, { client, scope });
    return;
  }
  const token = new provider.ClientCredentials({ client, scope });
  context.oidc.entity('ClientCredentials', token);
  context.body = await saveToken(token, scope);
}

/**
 * The scope a machine gets.
 *
 * @throws InvalidScope when no requested scope is registered for the client, or all of them need a
 * user
 */
export function machineScope(
  client: Client,
  requested: unknown,
  securityProfile: SecurityProfile,
): string {
  const registered = client.scope;
  return resolveScope({ requested, registered, excluded: identityScopes, securityProfile });
}

/** Stores the token and returns the reply with it. */
export async function saveToken(
  token: ClientCredentials,
  scope: string,
): Promise<ClientCredentialsReply> {
  const value = await token.save();
  return {
    access_token: value,
    token_type: token.tokenType,
    expires_in: token.expiration,
    scope,
  };
}
