import { isScopeForRoles, MAXIMUM_PASSWORD_BYTES } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { resolveScope } from '../provider/request-parameters.ts';
import { requestedResource, settingsOf, settleResources } from '../provider/resources.ts';
import { addressGroupOf } from '../requests/caller.ts';
import { authenticatedClient, type GrantDependencies, issueTokens } from './issue-tokens.ts';

/**
 * RFC 6749 §4.3: the client exchanges the user's password for tokens. Only confidential clients
 * that are registered for it may, and the `strict` profile rejects it (RFC 9700 §2.4). The user
 * gave no consent, so each sign-in has its own Grant.
 */
export function registerPassword(
  provider: Provider,
  { signIn, identity }: GrantDependencies,
): void {
  const signInByPassword = async (context: KoaContextWithOIDC) => {
    const { params } = context.oidc;
    const client = authenticatedClient(context);
    if (client.clientAuthMethod === 'none') {
      throw new errors.UnauthorizedClient('this grant_type needs client authentication');
    }
    const username = requireText(params?.username, 'username');
    const password = requireText(params?.password, 'password');
    if (Buffer.byteLength(password) > MAXIMUM_PASSWORD_BYTES) {
      throw new errors.InvalidRequest(`password is longer than ${MAXIMUM_PASSWORD_BYTES} bytes`);
    }
    const resource = await requestedResource(context, identity);
    const requested = resolveScope({
      requested: params?.scope,
      registered: settleResources(context),
      excluded: client.grantTypeAllowed('refresh_token') ? [] : ['offline_access'],
      // The `strict` profile has no password grant.
      securityProfile: 'compatible',
    });
    const user = await signIn({
      method: 'password_grant',
      username,
      password,
      address: addressGroupOf(context.req),
      clientId: client.clientId,
      request: context.req,
    });
    if (user === undefined) {
      throw new errors.InvalidGrant('the username or password is wrong');
    }
    const { userId: accountId, roles } = user;
    const settings = settingsOf(context);
    const scope = requested
      .split(' ')
      .filter((each) => isScopeForRoles(each, roles, settings))
      .join(' ');
    const tokens = { accountId, gty: 'password', scope, resource };
    const body = await issueTokens(provider, context, tokens);
    if (scope.split(' ').includes('openid')) {
      // As with a code, the ID token identifies the user, and /userinfo returns the profile.
      const idToken = new provider.IdToken({ sub: accountId }, { ctx: context, client });
      Object.assign(idToken, { scope: 'openid' });
      body.id_token = await idToken.issue({ use: 'idtoken' });
    }
  };
  provider.registerGrantType(
    'password',
    signInByPassword,
    ['username', 'password', 'scope', 'resource'],
    ['resource'],
  );
}

function requireText(value: unknown, name: string): string {
  if (typeof value !== 'string' || value === '') {
    throw new errors.InvalidRequest(`missing required parameter(s) (${name})`);
  }
  return value;
}
