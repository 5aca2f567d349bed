import { errors } from 'oidc-provider';

/** The browser still has the interaction, but it may no longer be used. */
export class InteractionExpiredError extends errors.SessionNotFound {
  /** The address at which the same request starts again, if that is possible. */
  readonly startAddress: string | undefined;

  constructor(startAddress: string | undefined) {
    super('the interaction has expired');
    this.startAddress = startAddress;
  }
}
