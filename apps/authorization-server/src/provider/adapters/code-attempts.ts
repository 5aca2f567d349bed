import type { Store } from '@gatehouse/store';
import { errors } from 'oidc-provider';
import { lifetimes } from '../policy/lifetimes.ts';
import { MARGIN_SECONDS, type SingleUse } from './single-use.ts';

/**
 * A correct client needs one attempt. The others are for redemptions that an unavailable store
 * interrupted.
 */
const MAXIMUM_ATTEMPTS = 5;

/** In the log and audit trail only. The client gets `invalid_grant`, as for every invalid code. */
export const TOO_MANY_CODE_ATTEMPTS = 'authorization code presented too often';

/**
 * An attacker who captured a code but not its PKCE verifier must not guess without limit (RFC 7636
 * §7.1). The count is one atomic increment before the library validates the verifier, so concurrent
 * guesses count as well. The record is not deleted, because the winning request may not have read
 * it yet.
 */
export function limitCodeAttempts(singleUse: SingleUse, store: Store): SingleUse {
  const windowSeconds = lifetimes.AuthorizationCode + MARGIN_SECONDS;
  return {
    ...singleUse,
    async assertMayPresent({ key }) {
      const { count } = await store.increment(`attempts:code:${key}`, windowSeconds);
      if (count > MAXIMUM_ATTEMPTS) {
        throw new errors.InvalidGrant(TOO_MANY_CODE_ATTEMPTS);
      }
    },
  };
}
