import { errors } from 'oidc-provider';

/** The browser still has the interaction, or the mark of its end, but it cannot be used. */
export class InteractionGoneError extends errors.SessionNotFound {
  /**
   * `expired` starts again by itself. `ended` means that an operator revoked everything, or that
   * only the application can start again. `completed` is what Back shows after a sign-in.
   */
  readonly kind: 'expired' | 'ended' | 'completed';
  /** Where the same request starts again, or the application of a completed one. */
  readonly address: string | undefined;

  constructor(kind: InteractionGoneError['kind'], address: string | undefined) {
    super('the interaction has expired');
    this.kind = kind;
    this.address = address;
  }
}
