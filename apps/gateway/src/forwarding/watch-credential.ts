import type { Writable } from 'node:stream';
import type { VerifiedRequest } from '../authentication/authenticator.ts';

/** A revocation takes effect within a second, even while a reply is open. */
const INTERVAL_MILLISECONDS = 900;

/**
 * Verifies the credential periodically while a stream is open. Closes the stream when the
 * credential is no longer valid, or when the store is unavailable.
 *
 * @param open emits `close` at its end
 */
export function watchCredential(
  verified: VerifiedRequest,
  scope: string | undefined,
  open: Writable,
): void {
  const { token } = verified;
  if (open.destroyed) {
    return;
  }
  const timer = setInterval(async () => {
    const principal = await token?.verify(token.text).catch(() => undefined);
    if (principal === undefined || (scope !== undefined && !principal.scopes.has(scope))) {
      open.destroy();
    }
  }, INTERVAL_MILLISECONDS);
  open.once('close', () => clearInterval(timer));
}
