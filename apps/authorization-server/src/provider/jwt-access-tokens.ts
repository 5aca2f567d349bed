/**
 * Access tokens in the form of a JWT (RFC 9068): what they contain in addition to the claims of the
 * library. introspection.ts describes and revokes them.
 */
import { type Identity, isGrantRevoked } from '@gatehouse/identity';
import { type Configuration, errors } from 'oidc-provider';
import type { TokenBudgets } from '../throttle/stored-budgets.ts';
import type { StoredToken } from './client-patches.ts';
import { assertIssuable } from './oidc-adapter.ts';

type JwtCustomizer = NonNullable<
  NonNullable<NonNullable<Configuration['formats']>['customizers']>['jwt']
>;

/** The claims of a token. The verifier of packages/identity reads them. */
export function jwtClaims(identity: Identity, budgets: TokenBudgets): JwtCustomizer {
  return async (_context, token, { payload }) => {
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
  };
}
