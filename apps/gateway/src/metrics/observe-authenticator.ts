import { ApiError } from '@gatehouse/errors';
import type { Authenticator } from '../authentication/authenticator.ts';
import type { CredentialKind } from '../routes/route.ts';

export interface Verification {
  readonly credential: CredentialKind;
  /** Unavailable: verification was impossible, for example because the store is unavailable. */
  readonly result: 'accepted' | 'refused' | 'unavailable';
  readonly seconds: number;
}

/** Wraps an authenticator to measure its time. It returns the same promise, so it adds no delay. */
export function observeAuthenticator(
  credential: CredentialKind,
  authenticator: Authenticator,
  observe: (verification: Verification) => void,
): Authenticator {
  return {
    authenticate(request) {
      const started = performance.now();
      const report = (result: Verification['result']) =>
        observe({ credential, result, seconds: (performance.now() - started) / 1000 });
      const reportFailure = (error: unknown) =>
        report(error instanceof ApiError && error.status < 500 ? 'refused' : 'unavailable');
      try {
        const verifying = authenticator.authenticate(request);
        verifying?.then(() => report('accepted'), reportFailure);
        return verifying;
      } catch (error) {
        reportFailure(error);
        throw error;
      }
    },
  };
}
