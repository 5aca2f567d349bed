/**
 * The grants that the library lacks or implements differently, and the tokens that they issue: RFC
 * 6749 §4.4 for machines with their refresh tokens, and §4.3 for passwords.
 */
import {
  type Identity,
  identityScopes,
  isOperatorApi,
  isScopeForRoles,
  MAXIMUM_PASSWORD_BYTES,
  ONE_FACTOR,
} from '@gatehouse/identity';
import {
  type Client,
  errors,
  type KoaContextWithOIDC,
  type Provider,
  type RefreshToken,
  type ResourceServerInstance,
} from 'oidc-provider';
import type { SecurityProfile } from '../provider/clients.ts';
import { wrapRefreshTokenGrant } from '../provider/patches.ts';
import { resolveScope } from '../provider/request-parameters.ts';
import { requestedResource, settingsOf, settleResources } from '../provider/resources.ts';
import { createGrant, lifetimesFor } from '../provider/times-to-live.ts';
import { contextOf } from '../requests/request-context.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';

interface GrantDependencies {
  readonly identity: Pick<Identity, 'settings'>;
  readonly securityProfile: SecurityProfile;
  readonly signIn: SignIn;
}

/** The library's own handlers serve the other grants. */
export function registerGrants(provider: Provider, dependencies: GrantDependencies): void {
  registerClientCredentials(provider, dependencies);
  registerMachineRefresh(provider, dependencies);
  if (dependencies.securityProfile === 'compatible') {
    registerPassword(provider, dependencies);
  }
}

const MACHINE = 'client_credentials';

/**
 * RFC 6749 §4.4. The library's handler grants nothing when a machine names no scope, and grants
 * scopes that need a user. This handler grants the registered device scopes and returns the granted
 * scope. At the platform endpoint, a client that may refresh also gets a refresh token.
 */
function registerClientCredentials(
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
function registerMachineRefresh(provider: Provider, { identity }: GrantDependencies): void {
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
  context.oidc.entity('Grant', grant);
  await token.adapter.consume(token.jti);
  context.oidc.entity('RotatedRefreshToken', token);
  const family = { grantId, scope, iiat };
  const granted = [...requested].join(' ');
  await issueTokens(provider, context, { gty: MACHINE, scope: granted, resource, family });
}

/**
 * RFC 6749 §4.3: the client exchanges the user's password for tokens. Only confidential clients
 * that are registered for it may, and the `strict` profile rejects it (RFC 9700 §2.4). The user
 * gave no consent, so each sign-in has its own Grant.
 */
function registerPassword(provider: Provider, { signIn, identity }: GrantDependencies): void {
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
    if (isOperatorApi(resource?.identifier(), settingsOf(context))) {
      throw new errors.InvalidTarget('this resource needs a sign-in with a second factor');
    }
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
    if (scope === '' && params?.scope !== undefined) {
      throw new errors.InvalidScope('the user has no role for the requested scope', requested);
    }
    const tokens = { accountId, gty: 'password', scope, resource };
    const body = await issueTokens(provider, context, tokens);
    if (scope.split(' ').includes('openid')) {
      // As with a code, the ID token identifies the user, and /userinfo returns the profile.
      const idToken = new provider.IdToken({ sub: accountId }, { ctx: context, client });
      Object.assign(idToken, { scope: 'openid' });
      body.id_token = await idToken.issue({ use: 'idtoken' });
    }
  };
  const parameters = ['username', 'password', 'scope', 'resource'];
  provider.registerGrantType('password', signInByPassword, parameters, ['resource']);
}

function requireText(value: unknown, name: string): string {
  if (typeof value !== 'string' || value === '') {
    throw new errors.InvalidRequest(`missing required parameter(s) (${name})`);
  }
  return value;
}

/** The library runs grants after client authentication only, which its types do not show. */
function authenticatedClient({ oidc }: KoaContextWithOIDC): Client {
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
async function issueTokens(
  provider: Provider,
  context: KoaContextWithOIDC,
  { accountId, gty, scope, resource, family }: IssuedTokens,
): Promise<Record<string, unknown>> {
  const client = authenticatedClient(context);
  const { clientId } = client;
  const grant = createGrant(provider, { clientId, accountId }, lifetimesFor(context, client));
  grant.addOIDCScope(scope);
  const ofResource = scope.split(' ').filter((each) => resource?.scopes.has(each));
  if (resource !== undefined) {
    grant.addResourceScope(resource.identifier(), ofResource.join(' '));
  }
  const tokenScope = resource === undefined ? scope : ofResource.join(' ');
  const grantId = family?.grantId ?? (await grant.save());
  // The published types require an account for every token. The models do not.
  const owner = { accountId: accountId as string, client, grantId, gty };
  // The user sent the password with this request.
  const signIn = gty === 'password' && {
    authTime: Math.floor(Date.now() / 1000),
    acr: ONE_FACTOR,
    amr: ['pwd'],
  };
  const origin = { ...owner, ...signIn };
  const granted = { scope: tokenScope, resourceServer: resource };
  const accessToken = new provider.AccessToken({ ...origin, ...granted });
  context.oidc.entity('AccessToken', accessToken);
  const body: Record<string, unknown> = {
    access_token: await accessToken.save(),
    token_type: accessToken.tokenType,
    expires_in: accessToken.expiration,
    scope: tokenScope,
  };
  if (client.grantTypeAllowed('refresh_token')) {
    const renewed = { scope, resource: resource?.identifier(), ...family };
    body.refresh_token = await new provider.RefreshToken({ ...origin, ...renewed }).save();
  }
  context.body = body;
  return body;
}
