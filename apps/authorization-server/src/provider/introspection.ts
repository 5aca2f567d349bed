/**
 * Introspection (RFC 7662 §2.2) and revocation (RFC 7009). The library describes its own tokens. This
 * file adds `aud`, `username`, `org`, and the `sub` of machines, omits scopes of a resource that the
 * token has lost, and serves the tokens that the library does not know: X-Access-Tokens, and access
 * tokens in the form of a JWT (RFC 9068), whose claims it completes.
 */
import { type Identity, isGrantRevoked } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import {
  type AccessToken,
  type Client,
  type ClientCredentials,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type RefreshToken,
} from 'oidc-provider';
import { requestOrigin } from '../requests/caller.ts';
import { providerRoutes } from '../requests/routes.ts';
import type { TokenBudgets } from '../throttle/stored-budgets.ts';
import type { StoredToken } from './client-patches.ts';
import type { ProviderMiddleware } from './library.ts';
import { assertIssuable } from './oidc-adapter.ts';

interface Dependencies {
  readonly identity: Identity;
  readonly issuer: string;
}

type Context = Parameters<ProviderMiddleware>[0];

export function completeIntrospection(dependencies: Dependencies): ProviderMiddleware {
  return async (context, next) => {
    await next();
    const { oidc, body } = context as KoaContextWithOIDC;
    const isReply = isJwtRejected(body) || Object(body).active !== undefined;
    if (!isReply || context.path !== providerRoutes.introspection) {
      return;
    }
    const description: TokenDescription | undefined =
      Object(body).active === true
        ? await withCurrentScopes(Object(body), oidc, dependencies)
        : await describeOther(oidc, dependencies);
    const { aud = dependencies.issuer } = description ?? {};
    const holder = description && (await holderOf(description, oidc, dependencies));
    const active = { ...signInOf(oidc), ...description, aud, ...holder };
    reply(context, description ? active : { active: false });
  };
}

/** The library stores no record of such a token, and supports neither of the two endpoints. */
const isJwtRejected = (body: unknown) => Object(body).error === 'unsupported_token_type';

/**
 * Replaces the library's error for an access token in the form of a JWT: revokes its grant, and the
 * gateway rejects it at once. Services that verify it themselves accept it until it expires.
 */
export function revokeJwtAccessTokens({ identity, issuer }: Dependencies): ProviderMiddleware {
  return async (context, next) => {
    await next();
    if (!isJwtRejected(context.body) || context.path !== providerRoutes.revocation) {
      return;
    }
    const { client, params } = (context as KoaContextWithOIDC).oidc;
    const token = String(params?.token);
    const claims = await identity.jwtAccessTokens.read(token);
    if (claims?.iss !== issuer) {
      return;
    }
    const isOwn = claims.client_id === client?.clientId;
    if (!isOwn && client?.clientAuthMethod !== 'none') {
      const error = 'invalid_request';
      Object.assign(observedRequest(context.req).notes, { code: error, reason: error });
      context.body = { error, error_description: FOREIGN_TOKEN };
      return;
    }
    const revoked = isOwn ? await identity.revocations.token(token) : undefined;
    if (revoked !== undefined) {
      identity.audit.record({ event: 'token_revoked', ...revoked }, requestOrigin(context.req));
    }
    reply(context, '');
  };
}

/** Replies with success, even if the library reported an error. */
function reply(context: Context, body: unknown): void {
  const { notes } = observedRequest(context.req);
  delete notes.code;
  delete notes.reason;
  delete notes.finding;
  context.body = body;
  context.status = 200;
}

interface TokenDescription {
  readonly client_id: string;
  /** The resource. Tokens of the device API have none. */
  readonly aud?: string | undefined;
  readonly scope?: string | undefined;
  /** The user. A machine's token has none. */
  readonly sub?: string | undefined;
}

/** RFC 9470 §6.2. */
function signInOf({ entities }: KoaContextWithOIDC['oidc']) {
  const token: StoredToken | undefined = entities.AccessToken ?? entities.RefreshToken;
  return { auth_time: token?.authTime, acr: token?.acr, amr: token?.amr };
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

/** A token that the library does not know. Undefined unless the caller may introspect it. */
async function describeOther(
  { client: caller, params }: KoaContextWithOIDC['oidc'],
  { identity, issuer }: Dependencies,
) {
  const token = String(params?.token);
  const jwt = await identity.jwtAccessTokens.find(token, issuer);
  const known = jwt === undefined ? await identity.xAccessTokens.find(token) : undefined;
  const principal = jwt?.principal ?? known?.principal;
  const isAuthenticated = caller !== undefined && caller.clientAuthMethod !== 'none';
  if (!isAuthenticated || !principal || !(await mayRead(caller, principal, identity))) {
    return undefined;
  }
  return {
    active: true,
    aud: principal.resource,
    client_id: principal.clientId,
    exp: jwt?.claims.exp ?? known?.expiresAt,
    iat: jwt?.claims.iat ?? known?.issuedAt,
    iss: issuer,
    jti: jwt?.claims.jti,
    auth_time: jwt?.claims.auth_time,
    acr: jwt?.claims.acr,
    amr: jwt?.claims.amr,
    // The user only: `holderOf` adds the `sub` of machines.
    sub: principal.userId,
    scope: [...principal.scopes].join(' ') || undefined,
    token_type: jwt === undefined ? 'X-Access-Token' : 'Bearer',
  };
}

type Token = AccessToken | ClientCredentials | RefreshToken;

/** RFC 7662 §4: resource servers may introspect every token, and a client its own tokens. */
async function mayRead(
  { clientId }: Client,
  token: { readonly clientId?: string | undefined },
  { clients }: Identity,
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

const FOREIGN_TOKEN = 'this token belongs to another client';

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
    throw new errors.InvalidRequest(FOREIGN_TOKEN);
  }
  return true;
}

/**
 * What an access token in the form of a JWT contains in addition to the claims of the library. The
 * verifier of packages/identity reads it.
 */
export function jwtClaims(
  identity: Identity,
  budgets: TokenBudgets,
): NonNullable<Configuration['formats']>['customizers'] {
  return {
    async jwt(_context, token, { payload }) {
      const { clientId, accountId, grantId, secureKeyId }: StoredToken = token;
      const { authTime: auth_time, acr, amr }: StoredToken = token;
      const iat = Number(payload.iat);
      // What the adapter checks when it stores an opaque token.
      await assertIssuable({ iat, clientId, accountId, secureKeyId }, identity);
      if (grantId === undefined) {
        // Nothing is stored until its revocation, which must fit then.
        await budgets.take('ClientCredentials', { clientId, accountId });
      } else if (await isGrantRevoked(identity.store, grantId)) {
        throw new errors.InvalidGrant('the grant was revoked');
      }
      const gatehouse = { user: accountId, grant: grantId, key: secureKeyId };
      Object.assign(payload, { auth_time, acr, amr, gatehouse });
    },
  };
}
