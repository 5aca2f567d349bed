import type { Identity } from '@gatehouse/identity';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { claimsOfUser } from './claims-of-user.ts';

/**
 * The credential that the library validates: a code or token has both members, a session has
 * neither.
 */
interface Credential {
  readonly iat?: number;
  readonly clientId?: string | undefined;
}

/**
 * The library's `findAccount`: the user if enabled, and if neither user nor client was revoked
 * after the credential was issued. The library calls it at every redemption, so that a refresh
 * token ends with its user and client.
 */
export function createFindAccount({ users, clients }: Identity) {
  return async (_context: KoaContextWithOIDC, userId: string, credential?: Credential) => {
    const user = await users.find(userId);
    const clientId = credential?.clientId;
    const client = clientId === undefined ? undefined : await clients.find(clientId);
    const revokedUntil = Math.max(user?.notBefore ?? 0, client?.notBefore ?? 0);
    if (!user?.enabled || (credential?.iat ?? Infinity) <= revokedUntil) {
      return undefined;
    }
    return {
      accountId: user.userId,
      claims: async () => claimsOfUser(user),
    };
  };
}
