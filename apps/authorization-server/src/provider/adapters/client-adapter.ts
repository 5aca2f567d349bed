import { type Client, type ClientRegistry, redirectUriProblem } from '@gatehouse/identity';
import { type Adapter, type AdapterPayload, errors, type ResponseType } from 'oidc-provider';

/** Reads clients from the registry; the provider never writes them. */
export class ClientAdapter implements Adapter {
  readonly #clients: ClientRegistry;
  readonly #supportedGrantTypes: ReadonlySet<string>;

  /**
   * @param supportedGrantTypes the grant types of the provider; a client may be registered for more
   */
  constructor(clients: ClientRegistry, supportedGrantTypes: ReadonlySet<string>) {
    this.#clients = clients;
    this.#supportedGrantTypes = supportedGrantTypes;
  }

  async find(clientId: string): Promise<AdapterPayload | undefined> {
    const client = await this.#clients.find(clientId);
    if (client === undefined) {
      // The same work as for a known client with a wrong secret, so that timing reveals nothing
      // (CWE-203).
      this.#clients.verifySecret(undefined, clientId);
      return undefined;
    }
    if (!client.enabled) {
      this.#clients.verifySecret(client, clientId);
      return undefined;
    }
    const metadata = toMetadata(client, this.#supportedGrantTypes);
    assertRedirectUris(client, metadata);
    return metadata;
  }

  upsert(): Promise<never> {
    return rejectWrite();
  }
  findByUid(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
  findByUserCode(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
  consume(): Promise<never> {
    return rejectWrite();
  }
  destroy(): Promise<never> {
    return rejectWrite();
  }
  revokeByGrantId(): Promise<never> {
    return rejectWrite();
  }
}

/**
 * Clients of earlier releases can have redirect URIs that are no longer accepted.
 *
 * @throws InvalidClientMetadata with the reason that the commands and the bootstrap file report
 */
function assertRedirectUris(
  client: Client,
  { grant_types: grantTypes = [] }: AdapterPayload,
): void {
  const { applicationType } = client;
  for (const uri of [...client.redirectUris, ...client.postLogoutRedirectUris]) {
    const problem = redirectUriProblem(uri, { applicationType, grantTypes });
    if (problem !== undefined) {
      throw new errors.InvalidClientMetadata(`a registered redirect URI ${problem}`);
    }
  }
}

function rejectWrite(): Promise<never> {
  return Promise.reject(new Error('Only the registry writes clients.'));
}

/**
 * RFC 7591 names. `client_secret` is never the real one: `compareClientSecret` asks the registry.
 */
function toMetadata(client: Client, supported: ReadonlySet<string>): AdapterPayload {
  const grantTypes = client.grantTypes.filter((grantType) => supported.has(grantType));
  return {
    client_id: client.clientId,
    client_name: client.name,
    application_type: client.applicationType,
    grant_types: grantTypes,
    response_types: responseTypes(grantTypes),
    redirect_uris: [...client.redirectUris],
    post_logout_redirect_uris: [...client.postLogoutRedirectUris],
    ...(client.scopes.length === 0 ? {} : { scope: client.scopes.join(' ') }),
    corsOrigins: client.corsOrigins,
    ...(client.public
      ? { token_endpoint_auth_method: 'none' }
      : {
          token_endpoint_auth_method: 'client_secret_basic',
          client_secret: 'held by the client registry',
        }),
  };
}

function responseTypes(grantTypes: readonly string[]): ResponseType[] {
  const types: ResponseType[] = grantTypes.includes('authorization_code') ? ['code'] : [];
  return grantTypes.includes('implicit')
    ? [...types, 'id_token', 'id_token token', 'token' as ResponseType]
    : types;
}
