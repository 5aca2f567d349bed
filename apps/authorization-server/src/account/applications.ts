import { type Identity, userGrantsKey } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import type { Grant } from 'oidc-provider';
import { ACCOUNT_CLIENT_ID } from '../provider/clients.ts';

/**
 * An application with grants of a user: one for each browser in which the user allowed it, and one
 * for each device.
 */
export interface GrantedApplication {
  readonly clientId: string;
  /** Undefined when the client no longer exists. */
  readonly name: string | undefined;
  readonly scopes: readonly string[];
  /** Epoch seconds of the oldest valid grant. */
  readonly since: number;
}

export interface GrantedApplications {
  list(userId: string): Promise<readonly GrantedApplication[]>;
  /**
   * Ends every grant of the client for this user, with all tokens and codes under them.
   *
   * @returns the ids of the grants
   */
  revoke(userId: string, clientId: string): Promise<readonly string[]>;
  revokeAll(userId: string): Promise<readonly string[]>;
}

export function createGrantedApplications(
  provider: Provider,
  { store, clients }: Identity,
): GrantedApplications {
  /** The valid grants. Revoked ones are removed from the index. */
  async function grantsOf(userId: string): Promise<readonly Grant[]> {
    const key = userGrantsKey(userId);
    const ids = await store.members(key);
    const found = await Promise.all(
      ids.map(async (id) => {
        const grant: Grant | undefined = await provider.Grant.find(id);
        if (grant === undefined) {
          await store.removeFromIndex(key, id);
        }
        return grant?.accountId === userId ? grant : undefined;
      }),
    );
    return found.filter((grant) => grant !== undefined);
  }

  async function revokeWhere(
    userId: string,
    matches: (grant: Grant) => boolean,
  ): Promise<readonly string[]> {
    const grants = (await grantsOf(userId)).filter(matches);
    await Promise.all(grants.map((grant) => grant.destroy()));
    return grants.map(({ jti }) => jti);
  }

  return {
    async list(userId) {
      const grants = (await grantsOf(userId)).filter(
        ({ clientId }) => clientId !== ACCOUNT_CLIENT_ID,
      );
      const byClient = Map.groupBy(grants, (grant) => grant.clientId ?? '');
      const applications = [...byClient].map(async ([clientId, held]) => ({
        clientId,
        name: (await clients.find(clientId))?.name,
        scopes: [...new Set(held.flatMap((grant) => grant.getOIDCScope().split(' ')))],
        since: Math.min(...held.map((grant) => grant.iat)),
      }));
      return (await Promise.all(applications)).sort((a, b) => b.since - a.since);
    },
    revoke: (userId, clientId) => revokeWhere(userId, (grant) => grant.clientId === clientId),
    revokeAll: (userId) => revokeWhere(userId, () => true),
  };
}
