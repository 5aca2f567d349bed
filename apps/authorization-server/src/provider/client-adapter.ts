import type { Client, ClientRegistry } from '@gatehouse/identity';
import type { Adapter, AdapterPayload } from 'oidc-provider';

/** Reads clients from the registry; the provider never writes them. */
export class ClientAdapter implements Adapter {
  readonly #clients: ClientRegistry;

  constructor(clients: ClientRegistry) {
    this.#clients = clients;
  }

  async find(clientId: string): Promise<AdapterPayload | undefined> {
    const client = await this.#clients.find(clientId);
    if (client === undefined) {
      // The same work as for a known client with a wrong secret, so that timing does not tell (CWE-203).
      this.#clients.verifySecret(undefined, clientId);
      return undefined;
    }
    return client.enabled ? toMetadata(client) : undefined;
  }

  upsert(): Promise<never> {
    return refuse();
  }
  findByUid(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
  findByUserCode(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
  consume(): Promise<never> {
    return refuse();
  }
  destroy(): Promise<never> {
    return refuse();
  }
  revokeByGrantId(): Promise<never> {
    return refuse();
  }
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('Clients are written by the registry only.'));
}

/** The grant types the provider serves so far; a client may be registered for more. */
const servedGrantTypes = new Set(['authorization_code', 'client_credentials', 'refresh_token']);

/** RFC 7591 names. `client_secret` is never the real one: `compareClientSecret` asks the registry. */
function toMetadata(client: Client): AdapterPayload {
  const redirects = client.grantTypes.includes('authorization_code');
  return {
    client_id: client.clientId,
    client_name: client.name,
    application_type: client.applicationType,
    grant_types: client.grantTypes.filter((grantType) => servedGrantTypes.has(grantType)),
    response_types: redirects ? ['code'] : [],
    redirect_uris: [...client.redirectUris],
    scope: client.scopes.join(' '),
    ...(client.public
      ? { token_endpoint_auth_method: 'none' }
      : {
          token_endpoint_auth_method: 'client_secret_basic',
          client_secret: 'held by the client registry',
        }),
  };
}
