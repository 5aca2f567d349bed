/** Thrown before anything is evaluated, so it reveals nothing about the account or the client. */
export class TooManyAttemptsError extends Error {
  /** For `Retry-After`. */
  readonly retryAfterSeconds: number;

  constructor(resetsAt: number, now: number) {
    super('Too many attempts.');
    this.name = 'TooManyAttemptsError';
    this.retryAfterSeconds = Math.max(1, Math.ceil((resetsAt - now) / 1000));
  }
}
