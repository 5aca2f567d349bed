import { type FailureReasonName, signInReasons } from '@gatehouse/errors';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { describeReason } from '../../http/describe-reason.ts';
import { provenKeyOf } from '../patches/secure-keys-of-tokens.ts';

/**
 * The library has one description for all causes of `invalid_grant`, and one for all redirect URIs.
 */
function isExplained(error: unknown, reason: FailureReasonName): boolean {
  return error === 'invalid_grant' || reason.startsWith('redirect_uri_');
}

/** An attacker who guesses passwords through a client must not learn which part is wrong. */
const isSecret = (reason: FailureReasonName) => Object.hasOwn(signInReasons, reason);

/**
 * Replaces the description of an error for a client that proved its secret in this request. All
 * other callers get the sentence of the library, which is the same for every cause: they may hold a
 * stolen code (docs/decisions/19-explanations.md).
 */
export function explainToClient(context: KoaContextWithOIDC, reason: FailureReasonName): void {
  const { body } = context;
  if (
    provenKeyOf(context.req) !== undefined &&
    !isSecret(reason) &&
    typeof body === 'object' &&
    body !== null &&
    'error' in body &&
    isExplained(body.error, reason)
  ) {
    context.body = { ...body, error_description: describeReason(reason) };
  }
}
