import { toApiError } from '@gatehouse/errors';
import type { VerifyInternalToken } from '../http/internal-token.ts';

export interface Verification {
  /** Unavailable: the keys of the gateway could not be fetched. */
  readonly result: 'accepted' | 'refused' | 'unavailable';
  readonly seconds: number;
}

export function observeVerification(
  verify: VerifyInternalToken,
  observe: (verification: Verification) => void,
): VerifyInternalToken {
  return async (token) => {
    const started = performance.now();
    const report = (result: Verification['result']) =>
      observe({ result, seconds: (performance.now() - started) / 1000 });
    try {
      const verified = await verify(token);
      report('accepted');
      return verified;
    } catch (error) {
      report(toApiError(error).status < 500 ? 'refused' : 'unavailable');
      throw error;
    }
  };
}
