/**
 * The `claims` parameter (OpenID Connect Core §5.5) selects claims of the scopes that a client is
 * registered for. It never gives more than these scopes would, so a first-party application gets
 * nothing through it without a scope.
 */
import { type Identity, type Client as RegisteredClient, requestedAcr } from '@gatehouse/identity';
import {
  type AdapterPayload,
  type ClaimsParameter,
  type Client,
  errors,
  type KoaContextWithOIDC,
} from 'oidc-provider';

/** The claims of each scope. docs/decisions/11-scopes-and-claims.md explains the choice. */
export const claimsOfScopes = {
  openid: ['sub', 'acr', 'amr'],
  profile: ['name', 'given_name', 'family_name', 'preferred_username', 'updated_at'],
  email: ['email', 'email_verified'],
  groups: ['groups', 'roles', 'org'],
};

/** They describe the sign-in, not the user. */
const signInClaims = ['sub', 'auth_time', 'acr', 'amr', 'iss', 'sid'];

const scopeNames = Object.keys(claimsOfScopes) as readonly (keyof typeof claimsOfScopes)[];

/** The request without claims that no scope of the client contains. */
export function claimsWithin(
  requested: ClaimsParameter,
  scopes: readonly string[],
): ClaimsParameter {
  const claims = scopeNames
    .filter((scope) => scopes.includes(scope))
    .flatMap((scope) => claimsOfScopes[scope]);
  const allowed = new Set([...signInClaims, ...claims]);
  return Object.fromEntries(
    Object.entries(requested).map(([place, members]) => [
      place,
      Object.fromEntries(Object.entries(members ?? {}).filter(([claim]) => allowed.has(claim))),
    ]),
  );
}

/**
 * Returns what the library calls as `assertClaimsParameter`. Unknown claims are ignored. An essential
 * `acr` that Gatehouse does not know is rejected (§5.5.1.1). In the strict profile, ID tokens contain
 * no claims of the user (decision 11).
 *
 * @throws InvalidRequest | UnmetAuthenticationRequirements
 */
export function limitRequestedClaims({ strict }: { readonly strict: boolean }) {
  return ({ oidc }: KoaContextWithOIDC, claims: ClaimsParameter, client: Client): void => {
    const members = Object.values(claims).flatMap((place) => Object.values(place ?? {}));
    // §5.5.1: each is null or an object. The library assumes this and fails on a text.
    if (!members.every((member) => typeof member === 'object' && !Array.isArray(member))) {
      throw new errors.InvalidRequest('each member of claims must be null or an object');
    }
    const acr = claims.id_token?.acr;
    if (acr?.values !== undefined && !Array.isArray(acr.values)) {
      throw new errors.InvalidRequest('the values of the claim acr must be a list');
    }
    const isNamed = (acr?.value ?? acr?.values) !== undefined;
    if (
      acr?.essential === true &&
      isNamed &&
      requestedAcr({ claims: JSON.stringify(claims) }).values.length === 0
    ) {
      throw new errors.UnmetAuthenticationRequirements('the requested acr is not supported');
    }
    if (oidc.params !== undefined) {
      const within = claimsWithin(claims, client.scope?.split(' ') ?? []);
      const idToken = strict ? claimsWithin({ id_token: within.id_token ?? {} }, []) : {};
      oidc.params.claims = JSON.stringify({ ...within, ...idToken });
    }
  };
}

/** The scopes whose claims the parameter requests. The consent page lists them. */
export function scopesOfClaims(parameter: unknown): readonly string[] {
  const requested = typeof parameter === 'string' ? (JSON.parse(parameter) as ClaimsParameter) : {};
  const claims = Object.values(requested).flatMap((members) => Object.keys(members ?? {}));
  return scopeNames.filter(
    (scope) => scope !== 'openid' && claimsOfScopes[scope].some((claim) => claims.includes(claim)),
  );
}

/**
 * The library's `findAccount`: the user if enabled, with all claims, of which the library selects
 * those of the granted scopes. The library calls it for the user of a session, a code or a token.
 * The adapter does not find those that were revoked.
 */
export function createFindAccount({ users }: Identity) {
  return async (_context: KoaContextWithOIDC, userId: string) => {
    const user = await users.find(userId);
    if (!user?.enabled) {
      return undefined;
    }
    const { name, email, emailVerified: email_verified, roles, attributes } = user;
    const claims = {
      ...attributes,
      sub: user.userId,
      name,
      given_name: user.givenName,
      family_name: user.familyName,
      preferred_username: user.username,
      updated_at: user.updatedAt,
      ...(email === undefined ? {} : { email, email_verified }),
      groups: roles,
      roles,
      org: user.orgId,
    };
    return { accountId: user.userId, claims: async () => claims };
  };
}

/** The code or token without the scopes and claims that its client lost since it was issued. */
export function withoutLostScopes(
  payload: AdapterPayload,
  client: RegisteredClient | undefined,
): AdapterPayload {
  if (client === undefined || typeof payload.scope !== 'string') {
    return payload;
  }
  const kept = payload.scope.split(' ').filter((scope) => client.scopes.includes(scope));
  const { claims } = payload;
  return {
    ...payload,
    scope: kept.join(' '),
    ...(claims && { claims: claimsWithin(claims, client.scopes) }),
  };
}
