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

/** Why a token opens nothing: names of failure reasons, which have the error code and the remedy. */
const refusals = {
  missing: 'token_missing',
  unknown: 'token_unknown',
  expired: 'token_expired',
  revoked: 'token_revoked',
  otherResource: 'token_for_other_resource',
  noRole: 'role_missing',
  oneFactor: 'user_authentication_insufficient',
  noScope: 'access_denied',
} as const satisfies Readonly<Record<string, FailureReasonName>>;

export type OperatorRefusal = (typeof refusals)[keyof typeof refusals];

/** What a valid token allows, and to whom. */
export type OperatorAccess = Exclude<
  Awaited<ReturnType<ReturnType<typeof createOperatorTokens>>>,
  { readonly refused: OperatorRefusal }
>;

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

  async function reasonOf(token: string): Promise<OperatorRefusal> {
    const text = await store.get(accessTokenKey(credentialHash(token)));
    const stored = parseStoredToken(text ?? '');
    if (stored === undefined) {
      return refusals.unknown;
    }
    return stored.exp * 1000 <= now() ? refusals.expired : refusals.revoked;
  }

  return async (token: string | undefined, scope: OperatorScope) => {
    if (token === undefined || token === '') {
      return { refused: refusals.missing };
    }
    const principal = await verifyAccessToken(token);
    if (principal === undefined) {
      return { refused: await reasonOf(token) };
    }
    const declared = await settings.read();
    const { clientId, userId, user, resource, scopes, signIn } = principal;
    if (!isOperatorApi(resource, declared)) {
      return { refused: refusals.otherResource };
    }
    if (user !== undefined && !isOperator(user.roles, declared)) {
      return { refused: refusals.noRole };
    }
    if (user !== undefined && !isAcrEnough(signIn?.acr, resource, declared)) {
      return { refused: refusals.oneFactor };
    }
    if (!scopes.has(scope)) {
      return { refused: refusals.noScope };
    }
    const { acr, authTime, sessionUid } = signIn ?? {};
    /** Names the session of the user's browser. It cannot be used as a credential. */
    const sessionId = sessionUid && credentialId(credentialHash(sessionUid));
    /** Of a machine, only the client and the scopes are defined. */
    return { clientId, userId, scopes, acr, authTime, sessionId };
  };
}
