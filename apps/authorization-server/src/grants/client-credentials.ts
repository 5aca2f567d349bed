import { identityScopes } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import type { Client, ClientCredentials, KoaContextWithOIDC } from 'oidc-provider';
import { isPlatformRequest } from '../http/platform-requests.ts';
import { resolveScope } from '../provider/policy/resolve-scope.ts';
import { issueMachineTokens } from './machine-tokens.ts';

export interface ClientCredentialsReply {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope: string;
}

/**
 * RFC 6749 §4.4. The library's handler grants nothing when a machine names no scope, and drops unknown scopes silently.
 * This handler grants the registered scopes and returns the granted scope. At the platform endpoint, a client that may
 * refresh also gets a refresh token.
 */
export function registerClientCredentials(provider: Provider): void {
  provider.registerGrantType(
    'client_credentials',
    (context) => issueClientCredentials(provider, context),
    ['scope'],
  );
}

async function issueClientCredentials(
  provider: Provider,
  context: KoaContextWithOIDC,
): Promise<void> {
  const { client, params } = context.oidc;
  if (client === undefined) {
    throw new Error('The grant runs after client authentication.');
  }
  const scope = machineScope(client, params?.scope);
  if (isPlatformRequest(context.req) && client.grantTypeAllowed('refresh_token')) {
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
 * @throws InvalidScope for a scope that is unknown, not registered for the client, or about a user
 */
export function machineScope(client: Client, requested: unknown): string {
  return resolveScope({ requested, registered: client.scope, excluded: identityScopes });
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
