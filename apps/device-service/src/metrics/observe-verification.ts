import { toApiError } from '@gatehouse/api-envelope';
import type { VerifyInternalToken } from '../http/internal-token.ts';

export interface Verification {
  /** Unavailable: nobody can say, because the gateway's keys cannot be had. */
  readonly result: 'accepted' | 'refused' | 'unavailable';
  readonly seconds: number;
}

/** A verifier that tells how long it took. */
export function observeVerification(
  verify: VerifyInternalToken,
  observe: (verification: Verification) => void,
): VerifyInternalToken {
  return async (token) => {
    const started = performance.now();
    const tell = (result: Verification['result']) =>
      observe({ result, seconds: (performance.now() - started) / 1000 });
    try {
      const verified = await verify(token);
      tell('accepted');
      return verified;
    } catch (error) {
      tell(toApiError(error).status < 500 ? 'refused' : 'unavailable');
      throw error;
    }
  };
}
