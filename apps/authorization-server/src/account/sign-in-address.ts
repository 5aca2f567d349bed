import { hash, randomBytes } from 'node:crypto';
import { ACCOUNT_CLIENT_ID, SIGNED_IN_PATH } from '../provider/clients.ts';
import { providerRoutes } from '../requests/routes.ts';

export const CHANGE_PASSWORD_PATH = '/account/password';

/**
 * The page that the user requested. `state` is a name: an address in it would be an open redirect.
 */
export function pageAfterSignIn(state: unknown): string {
  return state === 'password' ? CHANGE_PASSWORD_PATH : '/account';
}

/**
 * The address to which the account page sends a browser that is not signed in. The sign-in only
 * creates the session. Its code is never redeemed, and cannot be: the verifier is discarded here
 * (RFC 7636).
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
