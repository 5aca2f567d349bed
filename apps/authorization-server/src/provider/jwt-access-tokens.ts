/**
 * Access tokens in the form of a JWT (RFC 9068): what they contain in addition to the claims of the
 * library, and what introspection and revocation do with them. The library stores no record of
 * them, and supports neither.
 */
import {
  type Identity,
  isGrantRevoked,
  isScopeForRoles,
  type JwtAccessTokenClaims,
} from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { requestOrigin } from '../requests/caller.ts';
import { providerRoutes } from '../requests/routes.ts';
import type { TokenBudgets } from '../throttle/stored-budgets.ts';
import type { TokenOfSecureKey } from './client-patches.ts';
import { mayRead } from './introspection.ts';
import type { ProviderMiddleware } from './library.ts';
import { assertIssuable } from './oidc-adapter.ts';

type JwtCustomizer = NonNullable<
  NonNullable<NonNullable<Configuration['formats']>['customizers']>['jwt']
>;

/** The claims of a token. The verifier of packages/identity reads them. */
export function jwtClaims(identity: Identity, budgets: TokenBudgets): JwtCustomizer {
  const { users } = identity;
  return async (_context, token, { payload }) => {
    const { clientId, secureKeyId } = token as TokenOfSecureKey & { readonly clientId?: string };
    const { accountId, grantId, ...signIn } = 'accountId' in token ? token : {};
    const { authTime: auth_time, acr, amr } = signIn as SignIn;
    const iat = Number(payload.iat);
    // What the adapter checks when it stores an opaque token.
    await assertIssuable({ iat, clientId, accountId, secureKeyId }, identity);
    if (grantId !== undefined && (await isGrantRevoked(identity.store, grantId))) {
      throw new errors.InvalidGrant('the grant was revoked');
    }
    if (grantId === undefined) {
      // Nothing is stored until its revocation, which must fit then.
      await budgets.take('ClientCredentials', { clientId, accountId });
    }
    // The gateway compares the scopes with the roles at each call. Other services cannot.
    const user = accountId === undefined ? undefined : await users.find(accountId);
    const settings = await identity.settings.read();
    const isAllowed = (each: string) =>
      accountId === undefined || isScopeForRoles(each, user?.roles ?? [], settings);
    token.scope = [...token.scopes].filter(isAllowed).join(' ');
    Object.assign(payload, {
      ...{ auth_time, acr, amr, scope: token.scope || undefined },
      gatehouse: { user: accountId, grant: grantId, key: secureKeyId },
    });
  };
}

interface SignIn {
  readonly authTime?: number;
  readonly acr?: string;
  readonly amr?: readonly string[];
}

/**
 * Runs before the replies of introspection are completed.
 *
 * - Introspection describes the token as an opaque one (RFC 7662).
 * - Revocation revokes its grant, and the gateway rejects it at once. Services that verify it
 *   themselves accept it until it expires.
 * - For any other JWT, the reply of the library stays.
 */
export function serveJwtAccessTokens(identity: Identity, issuer: string): ProviderMiddleware {
  return async (context, next) => {
    await next();
    const { body, path } = context;
    const isRejected = typeof body === 'object' && body !== null && 'error' in body;
    if (!isRejected || body.error !== 'unsupported_token_type') {
      return;
    }
    const { oidc } = context as KoaContextWithOIDC;
    const token = String(oidc.params?.token);
    if (path === providerRoutes.introspection) {
      const found = await identity.jwtAccessTokens.find(token, issuer);
      const caller = oidc.client;
      const mayKnow =
        found !== undefined &&
        caller !== undefined &&
        caller.clientAuthMethod !== 'none' &&
        (await mayRead(caller, found.principal, identity));
      if (mayKnow) {
        reply(context, describe(found.claims, found.principal.scopes));
      }
    } else if (path === providerRoutes.revocation) {
      const claims = await identity.jwtAccessTokens.read(token);
      if (claims?.iss === issuer) {
        await revoke(context as KoaContextWithOIDC, token, claims);
      }
    }
  };

  async function revoke(
    context: KoaContextWithOIDC,
    token: string,
    { client_id: owner }: JwtAccessTokenClaims,
  ): Promise<void> {
    const { client } = context.oidc;
    if (owner === client?.clientId) {
      const revoked = await identity.revocations.token(token);
      if (revoked !== undefined) {
        identity.audit.record({ event: 'token_revoked', ...revoked }, requestOrigin(context.req));
      }
      reply(context, '');
    } else if (client?.clientAuthMethod === 'none') {
      reply(context, '');
    } else {
      const error = 'invalid_request';
      Object.assign(observedRequest(context.req).notes, { code: error, reason: error });
      context.body = { error, error_description: 'this token belongs to another client' };
    }
  }
}

function reply(context: Parameters<ProviderMiddleware>[0], body: unknown): void {
  const { notes } = observedRequest(context.req);
  delete notes.code;
  delete notes.reason;
  delete notes.finding;
  context.body = body;
  context.status = 200;
}

function describe(claims: JwtAccessTokenClaims, scopes: ReadonlySet<string>) {
  const { aud, client_id, exp, iat, iss, jti, gatehouse } = claims;
  return {
    ...{ active: true, aud, client_id, exp, iat, iss, jti },
    // The user only: completeIntrospection adds the `sub` of machines.
    sub: gatehouse.user,
    scope: [...scopes].join(' ') || undefined,
    token_type: 'Bearer',
  };
}
