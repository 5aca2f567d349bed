import { type Identity, knownScopes } from '@gatehouse/identity';
import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { isSessionOf } from './sessions.ts';

/**
 * The library's policy, and one more reason to ask who is there: the signed-in person may no longer, or may
 * not here. It is looked at on every authorization, so that a disabled user's session opens nothing.
 */
export function createInteractionPolicy(identity: Identity) {
  const policy = interactionPolicy.base();
  const { Check } = interactionPolicy;
  const checks = policy.get('login')?.checks;
  checks?.add(new Check('unknown_scope', 'an unknown scope was requested', refuseUnknownScopes));
  checks?.add(
    new Check(
      'account_not_allowed',
      'the signed-in account may not be used here',
      async (context) => !(await mayContinue(context, identity)),
    ),
  );
  return policy;
}

/** The library grants what it knows and drops the rest in silence; RFC 6749 §3.3 wants it said. */
function refuseUnknownScopes(context: KoaContextWithOIDC): false {
  const known: readonly string[] = knownScopes;
  const unknown = [...context.oidc.requestParamScopes].find((scope) => !known.includes(scope));
  if (unknown !== undefined) {
    throw new errors.InvalidScope('requested scope is unknown', unknown);
  }
  return false;
}

async function mayContinue(context: KoaContextWithOIDC, identity: Identity): Promise<boolean> {
  const { session, client } = context.oidc;
  const accountId = session?.accountId;
  if (session === undefined || accountId === undefined || client === undefined) {
    return true;
  }
  const user = await identity.users.find(accountId);
  if (!isSessionOf(user, session)) {
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
