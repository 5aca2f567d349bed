/**
 * How strongly a user has to sign in: what operators require (`secondFactor`), what the API of the
 * console requires, and the `acr` that a request asks for (OpenID Connect Core §3.1.2.1 and §5.5.1.1,
 * RFC 9470 §5).
 */
import {
  acrLevel,
  type Identity,
  isOperator,
  reportedAcr,
  requestedAcr,
  type SecondFactorPolicy,
  secondFactorPolicy,
  TWO_FACTORS,
  type User,
} from '@gatehouse/identity';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { ACCOUNT_CLIENT_ID } from './clients.ts';
import { asksForOperatorApi, settingsOf } from './resources.ts';

/** The parameters of an authorization request that decide how its user has to sign in. */
export type Requested = Readonly<Record<string, unknown>>;

/** A sign-in to the account page. */
export const atAccount: Requested = { client_id: ACCOUNT_CLIENT_ID };

type Policies = Pick<Identity, 'settings' | 'clients'>;

/**
 * On the account page, users manage the factor for all clients. The API of the console requires one,
 * so there it is at least optional for those who may use the API.
 */
export async function policyAt(
  user: User,
  requested: Requested,
  { settings, clients }: Policies,
): Promise<SecondFactorPolicy> {
  const declared = await settings.read();
  const clientId = String(requested.client_id);
  const isAccount = clientId === ACCOUNT_CLIENT_ID;
  const policy = secondFactorPolicy(declared.secondFactor, user, isAccount ? undefined : clientId);
  if (!isOperator(user.roles, declared)) {
    return policy;
  }
  if (isAccount) {
    return policy === 'off' ? 'optional' : policy;
  }
  const { defaultResource } = (await clients.find(clientId)) ?? {};
  return asksForOperatorApi(requested, defaultResource, declared) ? 'required' : policy;
}

/**
 * Whether a sign-in at this client asks for a second factor, because the user has one. A passkey
 * alone does not: without script, the password would not be enough anymore. It counts where a second
 * factor is required, because an attacker with the password must not enroll another one.
 */
export async function isFactorAsked(
  user: User,
  requested: Requested,
  identity: Policies & Pick<Identity, 'factors'>,
  isRequested = false,
): Promise<boolean> {
  const policy = await policyAt(user, requested, identity);
  if (policy === 'off') {
    return false;
  }
  const { app, passkeys } = await identity.factors.describe(user.userId);
  const isNeeded = policy === 'required' || isRequested;
  return app !== undefined || (isNeeded && passkeys.length > 0);
}

/** Whether the user may have second factors and passkeys. A passkey signs in at every client. */
export async function mayUseFactors(user: User, identity: Policies): Promise<boolean> {
  return (await policyAt(user, atAccount, identity)) !== 'off';
}

/** Whether some users may have passkeys, for the pages that do not know the user. */
export async function areThereFactors({ settings }: Pick<Identity, 'settings'>): Promise<boolean> {
  const { secondFactor, operators } = await settings.read();
  const { default: all, ...maps } = secondFactor ?? {};
  const policies = [all, ...Object.values(maps).flatMap((map) => Object.values(map))];
  const isForOperators = (operators?.roles.length ?? 0) > 0;
  return isForOperators || policies.some((policy) => policy !== undefined && policy !== 'off');
}

/**
 * Whether the user of a session has to sign in again, for more factors. After a sign-in that proved
 * fewer than the request insists on, the request fails.
 *
 * @throws UnmetAuthenticationRequirements
 */
export async function needsStrongerSignIn(
  context: KoaContextWithOIDC,
  identity: Policies & Pick<Identity, 'users' | 'factors'>,
): Promise<boolean> {
  const { oidc } = context;
  const { session, params = {}, result, client } = oidc;
  const user = await identity.users.find(session?.accountId ?? '');
  if (user === undefined) {
    return false;
  }
  const reached = acrLevel(session?.acr);
  const policy = await policyAt(user, params, identity);
  // A session can come from a client that asks for no factor.
  if (
    reached < acrLevel(TWO_FACTORS) &&
    (policy === 'required' || (await isFactorAsked(user, params, identity)))
  ) {
    return true;
  }
  const requested = requestedAcr(params);
  // The token reports what was requested, and would be too weak.
  if (
    policy === 'required' &&
    asksForOperatorApi(params, client?.defaultResource, settingsOf(context)) &&
    acrLevel(reportedAcr(session?.acr, requested)) < acrLevel(TWO_FACTORS)
  ) {
    throw new errors.UnmetAuthenticationRequirements('this resource needs a second factor');
  }
  if (reached >= requested.level) {
    return false;
  }
  if (policy !== 'off' && result?.login === undefined) {
    return requested.isEssential || !oidc.prompts.has('none');
  }
  if (requested.isEssential) {
    throw new errors.UnmetAuthenticationRequirements('the requested acr could not be obtained');
  }
  return false;
}
