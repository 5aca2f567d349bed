/**
 * Who may call the API of the console. An access token for it is the only credential: no cookie,
 * signature or X-Access-Token counts.
 *
 *   token ─▶ verifyAccessToken ─▶ resource ─▶ user: role, second factor ─▶ scope ─▶ access
 *
 * The user still has one of the roles in `operators` of the settings, and the client still has the
 * scope: what was removed takes effect within 50 ms.
 */
import type { FailureReasonName } from '@gatehouse/errors';
import { accessTokenKey, credentialId } from '../secrets/credential-keys.ts';
import { isOperator, isOperatorApi, type OperatorScope } from '../settings/operators.ts';
import { isAcrEnough } from '../users/authentication-context.ts';
import {
  type AccessTokenVerifier,
  parseStoredToken,
  type TokenDependencies,
} from './access-tokens.ts';

type Verified = Awaited<ReturnType<VerifyOperatorToken>>;

/** Why a token opens nothing: a name of failure reasons, which have the error code and the remedy. */
export type OperatorRefusal = Extract<Verified, { readonly refused: string }>['refused'];

/** What a valid token allows, and to whom. */
export type OperatorAccess = Exclude<Verified, { readonly refused: string }>;

/**
 * Verifies the bearer token of a request to the API of the console.
 *
 * @param token undefined if the request has none
 * @param scope that the operation needs. No scope contains the other
 * @returns the caller, or why the token is rejected, as a name of `failureReasons`
 * @throws StoreUnavailableError
 */
export type VerifyOperatorToken = ReturnType<typeof createOperatorTokens>;

export function createOperatorTokens(
  dependencies: TokenDependencies & { readonly verifyAccessToken: AccessTokenVerifier },
) {
  const { store, credentialHash, settings, verifyAccessToken, now } = dependencies;

  async function reasonOf(
    token: string,
  ): Promise<'token_unknown' | 'token_expired' | 'token_revoked'> {
    const stored = parseStoredToken((await store.get(accessTokenKey(credentialHash(token)))) ?? '');
    const isExpired = stored !== undefined && stored.exp * 1000 <= now();
    return stored === undefined ? 'token_unknown' : isExpired ? 'token_expired' : 'token_revoked';
  }

  return async (token: string | undefined, scope: OperatorScope) => {
    if (token === undefined || token === '') {
      return { refused: 'token_missing' } as const;
    }
    const principal = await verifyAccessToken(token);
    if (principal === undefined) {
      return { refused: await reasonOf(token) };
    }
    const declared = await settings.read();
    const { clientId, userId, user, resource, scopes, signIn } = principal;
    const refusals = {
      token_for_other_resource: !isOperatorApi(resource, declared),
      role_missing: user !== undefined && !isOperator(user.roles, declared),
      user_authentication_insufficient:
        user !== undefined && !isAcrEnough(signIn?.acr, resource, declared),
      access_denied: !scopes.has(scope),
    } satisfies Partial<Record<FailureReasonName, boolean>>;
    const names = Object.keys(refusals) as (keyof typeof refusals)[];
    const refused = names.find((name) => refusals[name]);
    if (refused !== undefined) {
      return { refused };
    }
    const { acr, authTime, sessionUid } = signIn ?? {};
    /** Names the session of the user's browser. It cannot be used as a credential. */
    const sessionId = sessionUid && credentialId(credentialHash(sessionUid));
    /** Of a machine, only the client and the scopes are defined. */
    return { clientId, userId, scopes, acr, authTime, sessionId };
  };
}
