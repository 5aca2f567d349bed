import { hash, randomBytes } from 'node:crypto';
import { providerRoutes } from '../http/provider-routes.ts';
import { ACCOUNT_CLIENT_ID, SIGNED_IN_PATH } from '../provider/policy/account-client.ts';

export const CHANGE_PASSWORD_PATH = '/account/password';

/** The page that the user wanted. An address in `state` would be an open redirect, so it is a name. */
export function pageAfterSignIn(state: unknown): string {
  return state === 'password' ? CHANGE_PASSWORD_PATH : '/account';
}

/**
 * The address to which the account page sends a browser that is not signed in. Afterwards only the session and the
 * page that the user wanted matter.
 * The code is never redeemed, and nobody can redeem it, because its verifier is discarded here (RFC 7636).
 */
export function accountSignInAddress(issuer: string, wanted: string): string {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: ACCOUNT_CLIENT_ID,
    redirect_uri: issuer + SIGNED_IN_PATH,
    scope: 'openid',
    state: wanted === CHANGE_PASSWORD_PATH ? 'password' : 'account',
    code_challenge: hash('sha256', verifier, 'base64url'),
    code_challenge_method: 'S256',
  });
  return `${providerRoutes.authorization}?${query}`;
}
