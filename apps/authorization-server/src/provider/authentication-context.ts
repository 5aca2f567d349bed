/**
 * How strongly a user has to sign in: what operators require (`secondFactor`), and the `acr` that a
 * request asks for (OpenID Connect Core §3.1.2.1 and §5.5.1.1, RFC 9470 §5).
 */
import {
  acrLevel,
  type Identity,
  requestedAcr,
  requestedLevel,
  type SecondFactorPolicy,
  secondFactorPolicy,
  TWO_FACTORS,
  type User,
} from '@gatehouse/identity';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { ACCOUNT_CLIENT_ID } from './clients.ts';

/** On the account page, users manage the factor for all clients. */
export async function policyAt(
  user: User,
  clientId: string,
  { settings }: Pick<Identity, 'settings'>,
): Promise<SecondFactorPolicy> {
  const { secondFactor } = await settings.read();
  const isAccount = clientId === ACCOUNT_CLIENT_ID;
  return secondFactorPolicy(secondFactor, user, isAccount ? undefined : clientId);
}

/**
 * Whether a sign-in at this client asks for a second factor, because the user has one. A passkey
 * alone does not: without script, the password would not be enough anymore. It counts where a second
 * factor is required, because an attacker with the password must not enroll another one.
 */
export async function isFactorAsked(
  user: User,
  clientId: string,
  identity: Pick<Identity, 'settings' | 'factors' | 'passkeys'>,
  isRequested = false,
): Promise<boolean> {
  const policy = await policyAt(user, clientId, identity);
  if (policy === 'off') {
    return false;
  }
  const isNeeded = policy === 'required' || isRequested;
  return (
    (await identity.factors.describe(user.userId)) !== undefined ||
    (isNeeded && (await identity.passkeys.list(user.userId)).length > 0)
  );
}

/** Whether the user may have second factors and passkeys. A passkey signs in at every client. */
export async function mayUseFactors(
  user: User,
  identity: Pick<Identity, 'settings'>,
): Promise<boolean> {
  return (await policyAt(user, ACCOUNT_CLIENT_ID, identity)) !== 'off';
}

/** Whether some users may have passkeys, for the pages that do not know the user. */
export async function areThereFactors({ settings }: Pick<Identity, 'settings'>): Promise<boolean> {
  const { default: all, ...maps } = (await settings.read()).secondFactor ?? {};
  const policies = [all, ...Object.values(maps).flatMap((map) => Object.values(map))];
  return policies.some((policy) => policy !== undefined && policy !== 'off');
}

/**
 * Whether the user of a session has to sign in again, for more factors. After a sign-in that proved
 * fewer than the request insists on, the request fails.
 *
 * @throws UnmetAuthenticationRequirements
 */
export async function needsStrongerSignIn(
  { oidc }: KoaContextWithOIDC,
  identity: Pick<Identity, 'settings' | 'users' | 'factors' | 'passkeys'>,
): Promise<boolean> {
  const { session, params = {}, result, client } = oidc;
  const user = await identity.users.find(session?.accountId ?? '');
  if (user === undefined) {
    return false;
  }
  const reached = acrLevel(session?.acr);
  const clientId = client?.clientId ?? '';
  const policy = await policyAt(user, clientId, identity);
  // A session can come from a client that asks for no factor.
  if (
    reached < acrLevel(TWO_FACTORS) &&
    (policy === 'required' || (await isFactorAsked(user, clientId, identity)))
  ) {
    return true;
  }
  const requested = requestedAcr(params);
  const level = requestedLevel(requested);
  if (reached >= level) {
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
