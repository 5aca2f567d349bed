/**
 * RFC 7662 §2.2. The library describes its own tokens. This step adds `aud`, `username`, `org`, and
 * the `sub` of machines, omits scopes of a resource that the token has lost, describes
 * X-Access-Tokens, and replies `active: false` for a token in the form of a JWT that is no access
 * token.
 */
import type { Identity } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import {
  type AccessToken,
  type Client,
  type ClientCredentials,
  errors,
  type KoaContextWithOIDC,
  type RefreshToken,
} from 'oidc-provider';
import { providerRoutes } from '../requests/routes.ts';
import type { ProviderMiddleware } from './library.ts';

interface Dependencies {
  readonly identity: Pick<Identity, 'users' | 'clients' | 'xAccessTokens' | 'verifyAccessToken'>;
  readonly issuer: string;
}

export function completeIntrospection(dependencies: Dependencies): ProviderMiddleware {
  const { issuer } = dependencies;
  return async (context, next) => {
    await next();
    const { body } = context;
    const isReply = typeof body === 'object' && body !== null;
    if (!isReply || context.path !== providerRoutes.introspection) {
      return;
    }
    if ('error' in body && body.error === 'unsupported_token_type') {
      delete observedRequest(context.req).notes.code;
      context.body = { active: false };
      context.status = 200;
    } else if ('active' in body) {
      const { oidc } = context as KoaContextWithOIDC;
      const description: TokenDescription | undefined =
        body.active === true
          ? await withCurrentScopes(body as unknown as TokenDescription, oidc, dependencies)
          : await describeXAccessToken(oidc, dependencies);
      if (description === undefined) {
        context.body = { active: false };
      } else {
        const holder = await holderOf(description, oidc, dependencies);
        context.body = { ...description, aud: description.aud ?? issuer, ...holder };
      }
    }
  };
}

interface TokenDescription {
  readonly client_id: string;
  /** The resource. Tokens of the device API have none. */
  readonly aud?: string | undefined;
  readonly scope?: string | undefined;
  /** The user. A machine's token has none. */
  readonly sub?: string | undefined;
}

/**
 * The token of a resource loses scopes with the roles of its user, and with the declaration of the
 * resource. A gateway sees the same scopes.
 *
 * @returns undefined if the token was revoked since the library read it
 */
async function withCurrentScopes(
  description: TokenDescription,
  { entities, params }: KoaContextWithOIDC['oidc'],
  { identity }: Dependencies,
): Promise<TokenDescription | undefined> {
  const { AccessToken: ofUser, ClientCredentials: ofMachine } = entities;
  if ((ofUser ?? ofMachine)?.aud === undefined) {
    return description;
  }
  const principal = await identity.verifyAccessToken(String(params?.token));
  return principal && { ...description, scope: [...principal.scopes].join(' ') || undefined };
}

/**
 * An application receives only those claims of a user that the token's scopes release, as at the
 * userinfo endpoint. A resource server receives both, because it must know the caller.
 */
async function holderOf(
  { client_id: clientId, scope = '', sub }: TokenDescription,
  oidc: KoaContextWithOIDC['oidc'],
  { identity: { users, clients } }: Dependencies,
) {
  if (sub === undefined) {
    return { sub: clientId, org: (await clients.find(clientId))?.orgId };
  }
  const user = await users.find(sub);
  const caller = await clients.find(oidc.client?.clientId ?? '');
  const scopes = scope.split(' ');
  const learns = (name: string) => caller?.resourceServer === true || scopes.includes(name);
  return {
    username: learns('profile') ? user?.username : undefined,
    org: learns('groups') ? user?.orgId : undefined,
  };
}

/** Undefined unless the caller may introspect the token. */
async function describeXAccessToken(
  { client: caller, params }: KoaContextWithOIDC['oidc'],
  { identity, issuer }: Dependencies,
) {
  const { principal, issuedAt, expiresAt } =
    (await identity.xAccessTokens.find(String(params?.token))) ?? {};
  if (
    principal === undefined ||
    caller === undefined ||
    caller.clientAuthMethod === 'none' ||
    !(await mayRead(caller, principal, identity))
  ) {
    return undefined;
  }
  return {
    active: true,
    aud: principal.resource,
    client_id: principal.clientId,
    exp: expiresAt,
    iat: issuedAt,
    iss: issuer,
    scope: [...principal.scopes].join(' '),
    token_type: 'X-Access-Token',
  };
}

type Token = AccessToken | ClientCredentials | RefreshToken;

/** RFC 7662 §4: resource servers may introspect every token, and a client its own tokens. */
export async function mayRead(
  { clientId }: Client,
  token: { readonly clientId?: string | undefined },
  { clients }: Pick<Identity, 'clients'>,
): Promise<boolean> {
  return token.clientId === clientId || (await clients.find(clientId))?.resourceServer === true;
}

/** A public client is not authenticated, so it may introspect nothing. */
export function mayIntrospect(identity: Identity) {
  return async (_context: KoaContextWithOIDC, client: Client, token: Token): Promise<boolean> => {
    if (client.clientAuthMethod === 'none') {
      throw new errors.InvalidClientAuth('introspection needs client authentication');
    }
    return mayRead(client, token, identity);
  };
}

/**
 * RFC 7009 §2.1: only the client that a token was issued to may revoke it. Other clients get an
 * error. A public client is not authenticated, so it gets the reply for an unknown token (§2.2).
 * Otherwise, anyone could find out whether a token is valid.
 */
export function mayRevoke(_context: KoaContextWithOIDC, client: Client, token: Token): boolean {
  if (token.clientId !== client.clientId) {
    if (client.clientAuthMethod === 'none') {
      return false;
    }
    throw new errors.InvalidRequest('this token belongs to another client');
  }
  return true;
}
