import type { AdapterPayload } from 'oidc-provider';
import { providerRoutes } from '../http/provider-routes.ts';
import { OMITTED } from '../provider/policy/omitted-redirect-uri.ts';

/**
 * The address of the request that created this interaction. A pushed request is used up: only the
 * application can push it again.
 */
export function startAddress(interaction: AdapterPayload): string | undefined {
  if (interaction.deviceCode !== undefined) {
    return providerRoutes.code_verification;
  }
  const parameters = new URLSearchParams();
  const { [OMITTED]: omitted, ...params } = interaction.params ?? {};
  for (const [name, value] of Object.entries(params)) {
    if (name !== 'redirect_uri' || omitted === undefined) {
      parameters.set(name, String(value));
    }
  }
  return interaction.parJti === undefined
    ? `${providerRoutes.authorization}?${parameters}`
    : undefined;
}
