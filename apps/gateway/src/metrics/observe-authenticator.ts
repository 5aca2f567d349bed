import { ApiError } from '@gatehouse/api-envelope';
import type { Authenticator } from '../authentication/authenticator.ts';
import type { CredentialKind } from '../routes/route.ts';

export interface Verification {
  readonly credential: CredentialKind;
  /** Unavailable: nobody can say, because something this needs is away. */
  readonly result: 'accepted' | 'refused' | 'unavailable';
  readonly seconds: number;
}

/** An authenticator that tells how long it took. Its promise is passed on: nobody waits longer for it. */
export function observeAuthenticator(
  credential: CredentialKind,
  authenticator: Authenticator,
  observe: (verification: Verification) => void,
): Authenticator {
  return {
    authenticate(request) {
      const started = performance.now();
      const tell = (result: Verification['result']) =>
        observe({ credential, result, seconds: (performance.now() - started) / 1000 });
      const tellFailure = (error: unknown) =>
        tell(error instanceof ApiError && error.status < 500 ? 'refused' : 'unavailable');
      try {
        const verifying = authenticator.authenticate(request);
        verifying?.then(() => tell('accepted'), tellFailure);
        return verifying;
      } catch (error) {
        tellFailure(error);
        throw error;
      }
    },
  };
}
