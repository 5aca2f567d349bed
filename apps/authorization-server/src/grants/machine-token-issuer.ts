import type Provider from 'oidc-provider';
import { type Client, errors } from 'oidc-provider';
import type { PlainTokenRequest } from '../client-endpoints/plain-token-request.ts';
import { TemporarilyUnavailable } from '../provider/unavailable-adapter.ts';
import type { FailedSecrets } from '../throttle/failed-secrets.ts';
import { type ClientCredentialsReply, machineScope, saveToken } from './client-credentials.ts';

/**
 * The reply to a client_credentials request that is good in every respect. Undefined otherwise, for whatever
 * reason: then nothing was issued, counted or written, and the request is still to be answered.
 *
 * @throws StoreUnavailable
 */
export type MachineTokenIssuer = (
  request: PlainTokenRequest,
  address: string,
) => Promise<ClientCredentialsReply | undefined>;

export function createMachineTokenIssuer(
  provider: Provider,
  failedSecrets: FailedSecrets,
): MachineTokenIssuer {
  async function authenticate(
    { clientId, clientSecret }: PlainTokenRequest,
    address: string,
  ): Promise<Client | undefined> {
    if (!(await failedSecrets.mayTry(clientId, address))) {
      return undefined;
    }
    const client = await provider.Client.find(clientId);
    const isAuthentic =
      client !== undefined &&
      client.clientAuthMethod !== 'none' &&
      (await client.compareClientSecret(clientSecret));
    return isAuthentic ? client : undefined;
  }

  return async (request, address) => {
    try {
      const client = await authenticate(request, address);
      if (client?.grantTypeAllowed('client_credentials') !== true) {
        return undefined;
      }
      const scope = machineScope(client, request.scope);
      return await saveToken(new provider.ClientCredentials({ client, scope }), scope);
    } catch (error) {
      if (error instanceof errors.InvalidScope) {
        return undefined;
      }
      throw error instanceof TemporarilyUnavailable ? error.cause : error;
    }
  };
}
