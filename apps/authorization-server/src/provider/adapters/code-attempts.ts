import type { Store } from '@gatehouse/store';
import { errors } from 'oidc-provider';
import { createAttemptLimit } from '../../http/attempt-limit.ts';
import { lifetimes } from '../policy/lifetimes.ts';
import { MARGIN_SECONDS, type SingleUse } from './single-use.ts';

/** A correct client needs one. The others are for a redemption that the store interrupted. */
const MAXIMUM_ATTEMPTS = 5;

/** In `error_detail` of the refusal. The caller gets `invalid_grant`, as for every other code that is not valid. */
export const TOO_MANY_CODE_ATTEMPTS = 'authorization code presented too often';

/**
 * An attacker who captured a code but not its PKCE verifier must not guess without limit (RFC 7636 §7.1). The count is
 * one atomic increment before the library checks the verifier, so parallel guesses count, too. The record stays: the
 * one request that is about to win may not have read it yet.
 */
export function limitCodeAttempts(singleUse: SingleUse, store: Store): SingleUse {
  const limit = createAttemptLimit(store, {
    name: 'code',
    attempts: MAXIMUM_ATTEMPTS,
    windowSeconds: lifetimes.AuthorizationCode + MARGIN_SECONDS,
  });
  return {
    ...singleUse,
    async assertMayPresent({ key }) {
      if ((await limit.take(key)) !== undefined) {
        throw new errors.InvalidGrant(TOO_MANY_CODE_ATTEMPTS);
      }
    },
  };
}
