import { RejectedError } from './rejected-error.ts';

/**
 * Lists the devices of the user through the gateway.
 *
 * @returns the gateway's reply as text for the user
 * @throws RejectedError when the access token has expired or was revoked
 */
export async function listDevices(accessToken: string, gatewayUrl: string): Promise<string> {
  const reply = await fetch(`${gatewayUrl}/api/device`, {
    headers: { Authorization: `Bearer ${accessToken}` },
  });
  if (reply.status === 401) {
    throw new RejectedError('The gateway does not accept the access token anymore.');
  }
  return JSON.stringify(await reply.json(), null, 2);
}
