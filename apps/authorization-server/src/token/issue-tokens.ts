import type { Identity } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import type { Client, KoaContextWithOIDC, ResourceServerInstance } from 'oidc-provider';
import type { SecurityProfile } from '../provider/clients.ts';
import { createGrant, lifetimesFor } from '../provider/times-to-live.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';

/** What the registration of a grant needs. */
export interface GrantDependencies {
  readonly identity: Pick<Identity, 'settings'>;
  readonly securityProfile: SecurityProfile;
  readonly signIn: SignIn;
}

/** The library runs grants after client authentication only, which its types do not show. */
export function authenticatedClient({ oidc }: KoaContextWithOIDC): Client {
  return oidc.client as Client;
}

interface IssuedTokens {
  /** Undefined for a machine. */
  readonly accountId?: string;
  /** The grant that they come from. */
  readonly gty: string;
  /** Everything that was granted. The access token has the scopes of its resource. */
  readonly scope: string;
  readonly resource: ResourceServerInstance | undefined;
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
  { accountId, gty, scope, resource, family }: IssuedTokens,
): Promise<Record<string, unknown>> {
  const client = authenticatedClient(context);
  const grant = createGrant(
    provider,
    { clientId: client.clientId, accountId },
    lifetimesFor(context, client),
  );
  grant.addOIDCScope(scope);
  const ofResource = scope.split(' ').filter((each) => resource?.scopes.has(each));
  if (resource !== undefined) {
    grant.addResourceScope(resource.identifier(), ofResource.join(' '));
  }
  const tokenScope = resource === undefined ? scope : ofResource.join(' ');
  const grantId = family?.grantId ?? (await grant.save());
  // The published types require an account for every token. The models do not.
  // The user sent the password with this request.
  const signIn =
    gty === 'password' ? { authTime: Math.floor(Date.now() / 1000), amr: ['pwd'] } : {};
  const origin = { accountId: accountId as string, client, grantId, gty, ...signIn };
  const accessToken = new provider.AccessToken({
    ...origin,
    scope: tokenScope,
    resourceServer: resource,
  });
  context.oidc.entity('AccessToken', accessToken);
  const body: Record<string, unknown> = {
    access_token: await accessToken.save(),
    token_type: accessToken.tokenType,
    expires_in: accessToken.expiration,
    scope: tokenScope,
  };
  if (client.grantTypeAllowed('refresh_token')) {
    const granted = { scope, resource: resource?.identifier() };
    body.refresh_token = await new provider.RefreshToken({
      ...origin,
      ...granted,
      ...family,
    }).save();
  }
  context.body = body;
  return body;
}
