import { RejectedError } from './rejected-error.ts';

export interface RedemptionSettings {
  readonly clientId: string;
  readonly secureKey: string;
  readonly redirectUri: string;
  readonly authorizationServerUrl: string;
}

/**
 * Redeems the code for an access token (RFC 6749 §4.1.3).
 *
 * @throws RejectedError when the authorization server rejects the code
 */
export async function redeemCode(code: string, settings: RedemptionSettings): Promise<string> {
  const { clientId, secureKey, redirectUri, authorizationServerUrl } = settings;
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
  if (!reply.ok || typeof token.access_token !== 'string') {
    throw new RejectedError(
      `The authorization server rejected the code: ${token.error} (${token.error_description})`,
    );
  }
  return token.access_token;
}
