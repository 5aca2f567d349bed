import type { Writable } from 'node:stream';
import type { VerifiedRequest } from '../authentication/authenticator.ts';

/** G1: a revoked credential is refused within a second, also where its reply is still open. */
const INTERVAL_MILLISECONDS = 900;

/**
 * Verifies the credential again while a stream is open, and breaks the stream off when it is not good any
 * more, or when the store cannot say.
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
