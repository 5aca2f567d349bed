import type { Identity } from '@gatehouse/identity';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { claimsOfUser } from './claims-of-user.ts';

/**
 * The library's `findAccount`: the user if enabled. The library calls it for the user of a session,
 * a code or a token. The adapter does not find those that were revoked.
 */
export function createFindAccount({ users }: Identity) {
  return async (_context: KoaContextWithOIDC, userId: string) => {
    const user = await users.find(userId);
    if (!user?.enabled) {
      return undefined;
    }
    return {
      accountId: user.userId,
      claims: async () => claimsOfUser(user),
    };
  };
}
