import { type AdapterPayload, errors } from 'oidc-provider';
import { providerRoutes } from '../http/provider-routes.ts';

/** The browser still has the interaction, but it may no longer be used. */
export class InteractionExpired extends errors.SessionNotFound {
  /** Where the same request starts again, if that is possible. */
  readonly startAgain: string | undefined;

  constructor(startAgain: string | undefined) {
    super('the interaction has expired');
    this.startAgain = startAgain;
  }
}

/** The request that made this interaction. A pushed request was used up, so only the application can push it again. */
export function startAddress(interaction: AdapterPayload): string | undefined {
  if (interaction.deviceCode !== undefined) {
    return providerRoutes.code_verification;
  }
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(interaction.params ?? {})) {
    parameters.set(name, String(value));
  }
  return interaction.parJti === undefined
    ? `${providerRoutes.authorization}?${parameters}`
    : undefined;
}
