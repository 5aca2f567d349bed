import type { Identity } from '@gatehouse/identity';
import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { assertParametersFit } from './parameter-limit.ts';
import { isSessionOf } from './sessions.ts';

/**
 * The library's policy, and one more reason to ask who is there: the signed-in person may no longer, or may
 * not here. It is looked at on every authorization, so that a disabled user's session opens nothing.
 */
export function createInteractionPolicy(identity: Identity) {
  const policy = interactionPolicy.base();
  const { Check } = interactionPolicy;
  const checks = policy.get('login')?.checks;
  dropLoginDetails(policy);
  checks?.add(
    new Check('parameters_too_long', 'the parameters are too long', ({ oidc }) => {
      assertParametersFit(oidc.params);
      return false;
    }),
  );
  checks?.add(
    new Check('foreign_scope', 'a scope was requested that is not registered', (context) =>
      settleScope(context, identity),
    ),
  );
  checks?.add(
    new Check(
      'account_not_allowed',
      'the signed-in account may not be used here',
      async (context) => !(await mayContinue(context, identity)),
    ),
  );
  return policy;
}

/** They repeat parameters, which would be kept twice. Our sign-in page reads none of them. */
function dropLoginDetails(policy: ReturnType<typeof interactionPolicy.base>): void {
  const login = policy.get('login');
  for (const each of login === undefined ? [] : [login, ...login.checks]) {
    each.details = () => ({});
  }
}

/**
 * The library grants what it knows and drops the rest in silence, and takes a client without scopes for one
 * with all of them. RFC 6749 §3.3: what is not registered is refused, and said; what is not named is all that is
 * registered, also in a pushed request (RFC 9126), whose address names nothing.
 */
async function settleScope(context: KoaContextWithOIDC, { clients }: Identity): Promise<false> {
  const { client, params, requestParamScopes } = context.oidc;
  const registered = (await clients.find(client?.clientId ?? ''))?.scopes ?? [];
  // The library has already dropped unknown ones from its parameters; the address still has them.
  const { scope: inAddress } = context.query;
  const asked = typeof inAddress === 'string' ? inAddress.split(' ') : [];
  const requested = [...requestParamScopes, ...asked].filter((scope) => scope !== '');
  const refused = requested.find((scope) => !registered.includes(scope));
  if (refused !== undefined) {
    throw new errors.InvalidScope('requested scope is not allowed', refused);
  }
  if (registered.length === 0) {
    throw new errors.InvalidScope('this client is registered for no scope', '');
  }
  if (requestParamScopes.size === 0 && params !== undefined) {
    params.scope = registered.join(' ');
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
