export interface SignInSettings {
  readonly clientId: string;
  readonly secureKey: string;
  readonly redirectUri: string;
  readonly authorizationServerUrl: string;
  readonly gatewayUrl: string;
}

/**
 * Redeems the code (RFC 6749 §4.1.3) and calls the gateway with the access token.
 *
 * @returns the replies as text for the user
 */
export async function redeemAndList(code: string, settings: SignInSettings): Promise<string> {
  const { clientId, secureKey, redirectUri, authorizationServerUrl, gatewayUrl } = settings;
  const credentials = [clientId, secureKey].map(encodeURIComponent).join(':');
  const reply = await fetch(`${authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa(credentials)}` },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: clientId,
    }),
  });
  const token = (await reply.json()) as Record<string, unknown>;
  if (!reply.ok) {
    return `The authorization server rejected the code: ${token.error} (${token.error_description})`;
  }
  const devices = await fetch(`${gatewayUrl}/api/device`, {
    headers: { Authorization: `Bearer ${token.access_token}` },
  });
  return JSON.stringify(await devices.json(), null, 2);
}
