import { errorCatalogue, failureReasons, isFailureReason } from '@gatehouse/errors';
import { type ClientRegistry, explorerClientId } from '@gatehouse/identity';

export interface ExplorerSettings {
  /** The public URL of the gateway. */
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  readonly clients: ClientRegistry;
}

/** Error code → how to fix the request. */
const advice = Object.fromEntries(
  Object.keys(errorCatalogue).flatMap((code) =>
    isFailureReason(code) ? [[code, failureReasons[code].fix]] : [],
  ),
);

/** The document `/explorer/settings.json`. It contains nothing secret. */
export async function readExplorerSettings(settings: ExplorerSettings) {
  const { publicUrl, authorizationServerUrl, clients } = settings;
  const redirectUri = `${publicUrl}/explorer`;
  const client = await clients.find(explorerClientId);
  return {
    gatewayUrl: publicUrl,
    authorizationServerUrl,
    redirectUri,
    clientId: explorerClientId,
    isRegistered: client?.enabled === true && client.redirectUris.includes(redirectUri),
    advice,
  };
}
