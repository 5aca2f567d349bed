import type { ClientRegistry } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import { type Client, errors } from 'oidc-provider';
import type { PlainTokenRequest } from '../client-endpoints/plain-token-request.ts';
import { TemporarilyUnavailable } from '../provider/adapters/unavailable-adapter.ts';
import type { TokenOfSecureKey } from '../provider/patches/secure-key-of-tokens.ts';
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

interface AuthenticatedClient extends TokenOfSecureKey {
  readonly client: Client;
}

export interface MachineTokenIssuerDependencies {
  readonly failedSecrets: FailedSecrets;
  readonly clients: ClientRegistry;
}

export function createMachineTokenIssuer(
  provider: Provider,
  { failedSecrets, clients }: MachineTokenIssuerDependencies,
): MachineTokenIssuer {
  async function authenticate(
    { clientId, clientSecret }: PlainTokenRequest,
    address: string,
  ): Promise<AuthenticatedClient | undefined> {
    if (!(await failedSecrets.mayTry(clientId, address))) {
      return undefined;
    }
    const client = await provider.Client.find(clientId);
    if (client === undefined || client.clientAuthMethod === 'none') {
      return undefined;
    }
    const secureKeyId = clients.identifySecret(await clients.find(clientId), clientSecret);
    return secureKeyId === undefined ? undefined : { client, secureKeyId };
  }

  return async (request, address) => {
    try {
      const authenticated = await authenticate(request, address);
      if (authenticated?.client.grantTypeAllowed('client_credentials') !== true) {
        return undefined;
      }
      const { client, secureKeyId } = authenticated;
      const scope = machineScope(client, request.scope);
      const token = new provider.ClientCredentials({ client, scope });
      return await saveToken(Object.assign(token, { secureKeyId }), scope);
    } catch (error) {
      if (error instanceof errors.InvalidScope) {
        return undefined;
      }
      throw error instanceof TemporarilyUnavailable ? error.cause : error;
    }
  };
}
