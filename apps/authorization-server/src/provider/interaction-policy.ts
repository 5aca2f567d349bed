import type { Identity } from '@gatehouse/identity';
import { interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';

/**
 * The library's policy, and one more reason to ask who is there: the signed-in person may no longer, or may
 * not here. It is looked at on every authorization, so that a disabled user's session opens nothing.
 */
export function createInteractionPolicy(identity: Identity) {
  const policy = interactionPolicy.base();
  policy
    .get('login')
    ?.checks.add(
      new interactionPolicy.Check(
        'account_not_allowed',
        'the signed-in account may not be used here',
        async (context) => !(await mayContinue(context, identity)),
      ),
    );
  return policy;
}

async function mayContinue(context: KoaContextWithOIDC, identity: Identity): Promise<boolean> {
  const { session, client } = context.oidc;
  const accountId = session?.accountId;
  if (accountId === undefined || client === undefined) {
    return true;
  }
  const user = await identity.users.find(accountId);
  const signedInAt = session?.loginTs ?? 0;
  if (user === undefined || !user.enabled || signedInAt <= user.notBefore) {
    return false;
  }
  return isUserAllowed(user.orgId, client.clientId, identity);
}

/** A client marked `ownOrganizationOnly` signs in nobody else's users. */
export async function isUserAllowed(
  userOrgId: string,
  clientId: string,
  identity: Identity,
): Promise<boolean> {
  const client = await identity.clients.find(clientId);
  return client !== undefined && (!client.ownOrganizationOnly || client.orgId === userOrgId);
}
