/** A credential of the user was rejected. Signing in again helps. */
export class RejectedError extends Error {
  override readonly name = 'RejectedError';
}
