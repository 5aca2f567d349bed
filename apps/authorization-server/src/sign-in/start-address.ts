import type { AdapterPayload } from 'oidc-provider';
import { InteractionGoneError } from '../pages/interaction-gone-error.ts';
import { ACCOUNT_CLIENT_ID } from '../provider/clients.ts';
import { OMITTED } from '../provider/request-parameters.ts';
import { providerRoutes } from '../requests/routes.ts';

/** Why the record in the cookie of a browser opens no page, and where its user continues. */
export function interactionGone(record: AdapterPayload): InteractionGoneError {
  if (record.completed === true) {
    return new InteractionGoneError('completed', applicationAddress(record));
  }
  const address = startAddress(record);
  const isExpired = (record.exp ?? 0) * 1000 <= Date.now();
  return new InteractionGoneError(
    isExpired && address !== undefined ? 'expired' : 'ended',
    address,
  );
}

/** The home page of the application. Its redirect URI would need a code. An app has no address. */
function applicationAddress({ params }: AdapterPayload): string | undefined {
  if (params?.client_id === ACCOUNT_CLIENT_ID) {
    return '/account';
  }
  const url = URL.parse(String(params?.redirect_uri));
  return url === null || url.origin === 'null' ? undefined : `${url.origin}/`;
}

/**
 * The address of the request that created this interaction. A pushed request is used up: only the
 * application can push it again.
 */
function startAddress(interaction: AdapterPayload): string | undefined {
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
