import type { SignInReasonName } from '@gatehouse/errors';
import { type Identity, isOperator, type User } from '@gatehouse/identity';
import { errors, type Grant, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import {
  isFactorAsked,
  mayUseFactors,
  needsStrongerSignIn,
  policyAt,
} from '../provider/authentication-context.ts';
import { isDeviceRoute } from '../provider/device-codes.ts';
import { asksForOperatorApi, grantResourceScopes, settingsOf } from '../provider/resources.ts';
import { createGrant, isSessionOf, lifetimesFor } from '../provider/times-to-live.ts';
import { contextOf } from '../requests/request-context.ts';
import type { SignInAttempt } from '../throttle/sign-in-throttle.ts';
import { assertParametersFit } from '../throttle/stored-budgets.ts';

/**
 * The library's policy, with more reasons to sign in: the signed-in user is disabled or not allowed
 * for this client, or needs more factors. It is evaluated on every authorization, so that the session of a
 * disabled user opens nothing.
 */
export function createInteractionPolicy(identity: Identity) {
  const policy = interactionPolicy.base();
  const { Check, Prompt } = interactionPolicy;
  policy.add(new Prompt({ name: 'select_account', requestable: true }), 0);
  const login = policy.get('login');
  // They repeat parameters, which would be stored twice. The sign-in page does not read them.
  for (const each of login === undefined ? [] : [login, ...login.checks]) {
    each.details = () => ({});
  }
  const reason = 'the signed-in account may not be used here';
  login?.checks.add(
    new Check('account_not_allowed', reason, async (context) => {
      assertParametersFit(context.oidc.params);
      await assertScopeRegistered(context, identity);
      return !(await mayContinue(context, identity));
    }),
  );
  // The library compares the texts: a stronger `acr` would not be enough.
  login?.checks.remove('essential_acr');
  login?.checks.remove('essential_acrs');
  login?.checks.add(
    new Check('acr', 'the user has to sign in with more factors', 'login_required', (context) =>
      needsStrongerSignIn(context, identity),
    ),
  );
  // The user has to see which host asks, at each authorization.
  const isUnseen = new Check(
    'document_client',
    'the user has to see the host of the client',
    'consent_required',
    async ({ oidc }) =>
      oidc.result?.consent === undefined &&
      (await identity.clients.find(oidc.client?.clientId ?? ''))?.document !== undefined,
  );
  policy.get('consent')?.checks.add(isUnseen);
  return policy;
}

/**
 * A client can lose a scope while the user signs in. `settleScope` checked the request when it
 * arrived.
 */
async function assertScopeRegistered(
  context: KoaContextWithOIDC,
  { clients }: Identity,
): Promise<void> {
  const { client, requestParamScopes } = context.oidc;
  const registered = (await clients.find(client?.clientId ?? ''))?.scopes ?? [];
  const rejected = [...requestParamScopes].find((scope) => !registered.includes(scope));
  if (rejected !== undefined || requestParamScopes.size === 0) {
    throw new errors.InvalidScope('requested scope is not allowed', rejected ?? '');
  }
}

async function mayContinue(context: KoaContextWithOIDC, identity: Identity): Promise<boolean> {
  const { session, client, params = {}, result } = context.oidc;
  const accountId = session?.accountId;
  if (session === undefined || accountId === undefined || client === undefined) {
    return true;
  }
  const user = await identity.users.find(accountId);
  if (
    !isSessionOf(user, session) ||
    !(await isUserAllowed(user.orgId, client.clientId, identity))
  ) {
    return false;
  }
  const settings = settingsOf(context);
  if (
    !asksForOperatorApi(params, client.defaultResource, settings) ||
    isOperator(user.roles, settings)
  ) {
    return true;
  }
  // Another user may have the role, so the sign-in page comes first.
  if (result?.login !== undefined) {
    throw new errors.InvalidScope('the user has no role for the requested scope', '');
  }
  return false;
}

/**
 * Why a user with the right password may not sign in like this. The password grant has no pages for
 * further steps.
 */
export async function rejectionOfSignIn(
  user: User,
  { method, clientId = '' }: Pick<SignInAttempt, 'method' | 'clientId'>,
  identity: Identity,
): Promise<SignInReasonName | undefined> {
  if (clientId !== '' && !(await isUserAllowed(user.orgId, clientId, identity))) {
    return 'user_of_another_organization';
  }
  if (method !== 'password_grant') {
    return undefined;
  }
  if (user.mustChangePassword === true) {
    return 'password_change_required';
  }
  const requested = { client_id: clientId };
  const isNeeded =
    (await policyAt(user, requested, identity)) === 'required' ||
    (await isFactorAsked(user, requested, identity));
  return isNeeded ? 'second_factor_required' : undefined;
}

/** Why a user with a verified passkey may not sign in with it. */
export const rejectionOfPasskey: typeof rejectionOfSignIn = async (user, attempt, identity) =>
  (await mayUseFactors(user, identity))
    ? user.enabled
      ? rejectionOfSignIn(user, attempt, identity)
      : 'account_disabled'
    : 'passkey_unknown';

/** A client with `ownOrganizationOnly` signs in only users of its organization. */
export async function isUserAllowed(
  userOrgId: string,
  clientId: string,
  identity: Identity,
): Promise<boolean> {
  const client = await identity.clients.find(clientId);
  return client !== undefined && (!client.ownOrganizationOnly || client.orgId === userOrgId);
}

/**
 * The existing grant of the user for the client. A first-party application needs no consent: it
 * gets the requested scopes, within its registered ones.
 */
export function createLoadExistingGrant({ clients, users }: Identity) {
  return async (context: KoaContextWithOIDC): Promise<Grant | undefined> => {
    const { session, client, provider, result } = context.oidc;
    const clientId = client?.clientId ?? '';
    const sessionGrantId = session?.grantIdFor(clientId);
    if (isDeviceRoute(context)) {
      // The device's grant replaces it.
      contextOf(context.req).sessionGrantId = sessionGrantId;
    }
    const known = isDeviceRoute(context) ? undefined : sessionGrantId;
    const grantId = result?.consent?.grantId ?? known;
    const found = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    // New tokens do not outlive their Grant, so a Grant that is too old is requested again.
    const lifetimes = lifetimesFor(context, client);
    const needed = Math.max(lifetimes.accessToken, lifetimes.refreshToken) + lifetimes.code;
    const existing = (found?.remainingTTL ?? 0) > needed ? found : undefined;
    const accountId = context.oidc.account?.accountId;
    if (existing !== undefined && existing.accountId !== accountId) {
      return undefined;
    }
    if ((await clients.find(clientId))?.firstParty !== true || accountId === undefined) {
      return existing;
    }
    const grant = existing ?? createGrant(provider, { accountId, clientId }, lifetimes);
    grant.addOIDCScope([...context.oidc.requestParamOIDCScopes].join(' '));
    grant.addOIDCClaims([...context.oidc.requestParamClaims]);
    grantResourceScopes(grant, requestedScopes(context), {
      roles: (await users.find(accountId))?.roles ?? [],
      settings: settingsOf(context),
    });
    await grant.save();
    return grant;
  };
}

/** The requested scopes of each requested resource. */
function requestedScopes({ oidc }: KoaContextWithOIDC) {
  return Object.fromEntries(
    Object.entries(oidc.resourceServers ?? {}).map(([resource, { scopes }]) => [
      resource,
      [...oidc.requestParamScopes].filter((scope) => scopes.has(scope)),
    ]),
  );
}
