import { identityScopes } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import {
  type Client,
  type ClientCredentials,
  errors,
  type KoaContextWithOIDC,
  type RefreshToken,
} from 'oidc-provider';
import type { Grant, SecurityProfile } from '../provider/clients.ts';
import { authenticatedClient } from '../provider/library.ts';
import { wrapRefreshTokenGrant } from '../provider/patches.ts';
import { resolveScope } from '../provider/request-parameters.ts';
import { contextOf } from '../requests/request-context.ts';

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

/**
 * The tokens of a machine at the platform endpoint: an access token and a refresh token without a
 * user. Both belong to a Grant of the client alone, so that revocation, introspection and the end
 * of a family work as for a user's tokens. The library's refresh handler requires an account, so
 * this file handles the refresh. Single use, rotation, derivation and lifetime come from the
 * library's models and the adapter, as for every other refresh token.
 */

const MACHINE = 'client_credentials';

async function issueMachineTokens(
  provider: Provider,
  context: KoaContextWithOIDC,
  { client, scope }: { readonly client: Client; readonly scope: string },
): Promise<void> {
  const grant = new provider.Grant({ clientId: client.clientId });
  grant.addOIDCScope(scope);
  const grantId = await grant.save();
  const refreshToken = newRefreshToken(provider, { client, grantId, scope });
  await respond(provider, context, { client, refreshToken, scope });
}

/**
 * At the platform endpoint, this redeems the refresh tokens of machines, and the library redeems
 * all others.
 */
export const machineRefresh: Grant = {
  isOfPlatform: true,
  parameters: ['refresh_token'],
  secrets: ['refresh_token'],
  register(provider) {
    wrapRefreshTokenGrant(provider, async (context, handler) => {
      if (!contextOf(context.req).isPlatform) {
        // The library rejects a machine's refresh token at /token, because it has no account.
        return handler(context);
      }
      const value = context.oidc.params?.refresh_token;
      // Finds no expired or revoked token. The library rejects those.
      const token = typeof value === 'string' ? await provider.RefreshToken.find(value) : undefined;
      return token !== undefined && token.accountId === undefined
        ? refresh(provider, context, token)
        : handler(context);
    });
  },
};

/** The library's checks, in its order (RFC 6749 §6), without the account. */
async function refresh(
  provider: Provider,
  context: KoaContextWithOIDC,
  token: RefreshToken & { readonly consumed?: unknown },
): Promise<void> {
  const client = authenticatedClient(context);
  if (token.clientId !== client.clientId) {
    throw new errors.InvalidGrant('client mismatch');
  }
  const grant = await provider.Grant.find(token.grantId ?? '');
  if (grant === undefined) {
    throw new errors.InvalidGrant('grant not found');
  }
  const scope = narrow(token, context.oidc.params?.scope);
  if (token.consumed) {
    await grant.destroy();
    throw new errors.InvalidGrant('refresh token already used');
  }
  context.oidc.entity('RefreshToken', token);
  await token.adapter.consume(token.jti);
  context.oidc.entity('RotatedRefreshToken', token);
  const refreshToken = newRefreshToken(provider, {
    client,
    grantId: token.grantId ?? '',
    scope: token.scope ?? '',
    iiat: token.iiat,
  });
  await respond(provider, context, { client, refreshToken, scope });
}

/** @throws InvalidScope when the request exceeds the granted scope */
function narrow(token: RefreshToken, requested: unknown): string {
  if (requested === undefined) {
    return token.scope ?? '';
  }
  const scopes = [...new Set(String(requested).split(' '))];
  const rejected = scopes.find((scope) => !token.scopes.has(scope));
  if (rejected !== undefined) {
    throw new errors.InvalidScope('refresh token missing requested scope', rejected);
  }
  return scopes.join(' ');
}

interface MachineRefreshToken {
  readonly client: Client;
  readonly grantId: string;
  readonly scope: string;
  /** When the first token of the family was issued. The lifetime of the family counts from it. */
  readonly iiat?: number | undefined;
}

function newRefreshToken(provider: Provider, properties: MachineRefreshToken): RefreshToken {
  // The published types require an account for every refresh token. The model does not.
  const withoutAccount = { ...properties, gty: MACHINE } as unknown as ConstructorParameters<
    typeof RefreshToken
  >[0];
  return new provider.RefreshToken(withoutAccount);
}

async function respond(
  provider: Provider,
  context: KoaContextWithOIDC,
  given: { readonly client: Client; readonly refreshToken: RefreshToken; readonly scope: string },
): Promise<void> {
  const { client, refreshToken, scope } = given;
  const refreshTokenValue = await refreshToken.save();
  const accessToken = new provider.AccessToken({
    client,
    grantId: refreshToken.grantId ?? '',
    gty: MACHINE,
    scope,
  } as unknown as ConstructorParameters<typeof provider.AccessToken>[0]);
  context.oidc.entity('AccessToken', accessToken);
  context.body = {
    access_token: await accessToken.save(),
    token_type: accessToken.tokenType,
    expires_in: accessToken.expiration,
    refresh_token: refreshTokenValue,
    scope,
  };
}
