import type Provider from 'oidc-provider';
import type { Client, KoaContextWithOIDC } from 'oidc-provider';

/** The library runs grants after client authentication only, which its types do not show. */
export function authenticatedClient({ oidc }: KoaContextWithOIDC): Client {
  return oidc.client as Client;
}

interface IssuedTokens {
  /** Undefined for a machine. */
  readonly accountId?: string;
  /** The grant that they come from. */
  readonly gty: string;
  /** Of the access token. */
  readonly scope: string;
  /** What a refresh token hands on to its successor. Without it, the tokens get a new Grant. */
  readonly family?: {
    readonly grantId: string;
    readonly scope: string;
    readonly iiat: number | undefined;
  };
}

/**
 * Replies with an access token and, if the client may refresh, a refresh token. Both belong to one
 * Grant, so that revocation, introspection and the end of a family work as for a code.
 */
export async function issueTokens(
  provider: Provider,
  context: KoaContextWithOIDC,
  { accountId, gty, scope, family }: IssuedTokens,
): Promise<Record<string, unknown>> {
  const client = authenticatedClient(context);
  const grant = new provider.Grant({ clientId: client.clientId, accountId });
  grant.addOIDCScope(scope);
  const grantId = family?.grantId ?? (await grant.save());
  // The published types require an account for every token. The models do not.
  const origin = { accountId: accountId as string, client, grantId, gty, scope };
  const accessToken = new provider.AccessToken(origin);
  context.oidc.entity('AccessToken', accessToken);
  const body: Record<string, unknown> = {
    access_token: await accessToken.save(),
    token_type: accessToken.tokenType,
    expires_in: accessToken.expiration,
    scope,
  };
  if (client.grantTypeAllowed('refresh_token')) {
    body.refresh_token = await new provider.RefreshToken({ ...origin, ...family }).save();
  }
  context.body = body;
  return body;
}
