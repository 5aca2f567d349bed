import type { ClientRegistry } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import { type Client, errors } from 'oidc-provider';
import { TemporarilyUnavailableError } from '../provider/adapters/temporarily-unavailable-error.ts';
import type { TokenOfSecureKey } from '../provider/patches/secure-keys-of-tokens.ts';
import type { SecurityProfile } from '../provider/policy/grant-types.ts';
import type { FailedSecrets } from '../throttle/failed-secrets.ts';
import {
  RevocationPendingError,
  TooManyAttemptsError,
} from '../throttle/too-many-attempts-error.ts';
import { type ClientCredentialsReply, machineScope, saveToken } from './client-credentials.ts';

export interface MachineTokenRequest {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string | undefined;
}

/**
 * The reply to a valid client_credentials request. Undefined for every other request: nothing was
 * issued, counted or written, and the provider still has to reply.
 *
 * @throws StoreUnavailableError
 */
export type MachineTokenIssuer = (
  request: MachineTokenRequest,
  address: string,
) => Promise<ClientCredentialsReply | undefined>;

interface AuthenticatedClient extends TokenOfSecureKey {
  readonly client: Client;
}

export interface MachineTokenIssuerDependencies {
  readonly failedSecrets: FailedSecrets;
  readonly clients: ClientRegistry;
  readonly securityProfile: SecurityProfile;
}

export function createMachineTokenIssuer(
  provider: Provider,
  { failedSecrets, clients, securityProfile }: MachineTokenIssuerDependencies,
): MachineTokenIssuer {
  async function authenticate(
    { clientId, clientSecret }: MachineTokenRequest,
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
      const scope = machineScope(client, request.scope, securityProfile);
      const token = new provider.ClientCredentials({ client, scope });
      return await saveToken(Object.assign(token, { secureKeyId }), scope);
    } catch (error) {
      if (
        error instanceof errors.InvalidScope ||
        error instanceof TooManyAttemptsError ||
        error instanceof RevocationPendingError
      ) {
        return undefined;
      }
      throw error instanceof TemporarilyUnavailableError ? error.cause : error;
    }
  };
}
