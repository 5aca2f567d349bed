import {
  builtInClient,
  type Client,
  type ClientRegistry,
  CONSOLE_CLIENT_ID,
  createUserSessions,
  grantFacts,
  hasPublicKeys,
  type Identity,
  isBrowserClientId,
  isKnownScope,
  redirectUriProblem,
} from '@gatehouse/identity';
import { type Adapter, type AdapterPayload, errors, type ResponseType } from 'oidc-provider';
import { isReadingDocument } from './metadata-documents.ts';

export type SecurityProfile = 'compatible' | 'strict';

/** Reads clients from the registry. The library calls no other operation for clients. */
export function createClientAdapter(clients: ClientRegistry, profile: SecurityProfile): Adapter {
  return {
    async find(clientId: string) {
      const client = await clients.find(clientId);
      if (client?.enabled !== true || isReadingDocument(clientId)) {
        return undefined;
      }
      const grantTypes = client.grantTypes.filter(
        (type) => profile === 'compatible' || !grantFacts(type).isLegacy,
      );
      assertRedirectUris(client, grantTypes);
      return toMetadata(client, grantTypes);
    },
  } as Adapter;
}

/**
 * Clients of earlier releases can have redirect URIs that are no longer accepted.
 *
 * @throws InvalidClientMetadata with the reason that the commands and the bootstrap file report
 */
function assertRedirectUris(client: Client, grantTypes: readonly string[]): void {
  const { applicationType, redirectUris, postLogoutRedirectUris } = client;
  for (const uri of [...redirectUris, ...postLogoutRedirectUris]) {
    const problem = redirectUriProblem(uri, { applicationType, grantTypes });
    if (problem !== undefined) {
      throw new errors.InvalidClientMetadata(`a registered redirect URI ${problem}`);
    }
  }
}

/**
 * RFC 7591 names. `client_secret` is never the real one: `compareClientSecret` asks the registry.
 */
function toMetadata(client: Client, grantTypes: string[]): AdapterPayload {
  const code: ResponseType[] = grantTypes.includes('authorization_code') ? ['code'] : [];
  // The library knows the scopes of declared resources only while it serves a request.
  const known = client.scopes.filter(isKnownScope);
  const implicit = ['id_token', 'id_token token', 'token'] as ResponseType[];
  return {
    client_id: client.clientId,
    client_name: client.name,
    application_type: client.applicationType,
    grant_types: grantTypes,
    response_types: grantTypes.includes('implicit') ? [...code, ...implicit] : code,
    redirect_uris: [...client.redirectUris],
    post_logout_redirect_uris: [...client.postLogoutRedirectUris],
    ...(known.length === 0 ? {} : { scope: known.join(' ') }),
    registeredScopes: client.scopes,
    // For the brand of its pages.
    orgId: client.orgId,
    defaultResource: client.defaultResource,
    lifetimes: client.lifetimes,
    // Another address needs another object, because `limitLookups` installs the keys in it.
    keysAddress: client.jwksUri,
    corsOrigins: client.corsOrigins,
    require_pushed_authorization_requests: client.clientId === CONSOLE_CLIENT_ID,
    ...(client.backchannelLogoutUri !== undefined && {
      backchannel_logout_uri: client.backchannelLogoutUri,
      backchannel_logout_session_required: client.backchannelLogoutSessionRequired ?? false,
    }),
    ...authenticationOf(client),
  };
}

function authenticationOf(client: Client): Partial<AdapterPayload> {
  if (client.public) {
    return { token_endpoint_auth_method: 'none' };
  }
  return hasPublicKeys(client)
    ? // `limitLookups` installs the keys of an address.
      { token_endpoint_auth_method: 'private_key_jwt', jwks: client.jwks ?? { keys: [] } }
    : {
        token_endpoint_auth_method: 'client_secret_basic',
        client_secret: 'held by the client registry',
      };
}

export const ACCOUNT_CLIENT_ID = 'gatehouse:account';
export const SIGNED_IN_PATH = '/account/signed-in';

/**
 * The account page is a built-in client of this server. Users sign in to it through the ordinary
 * flow, with its throttle and session, and an operator cannot disable or delete it. So are the hosts
 * in `browserHosts`, which operators declare.
 */
export function withBuiltInClients(identity: Identity, issuer: string): Identity {
  const { clients, findLiveHolder, browserSessions } = identity;
  const account = builtInClient({
    clientId: ACCOUNT_CLIENT_ID,
    name: 'Account',
    redirectUris: [issuer + SIGNED_IN_PATH],
  });
  const withBuiltIn: Identity = {
    ...identity,
    clients: {
      ...clients,
      async find(clientId) {
        if (isBrowserClientId(clientId)) {
          return browserSessions.findClient(clientId);
        }
        return clientId === ACCOUNT_CLIENT_ID ? account : clients.find(clientId);
      },
    },
    findLiveHolder(credential) {
      const { clientId, ...withoutClient } = credential;
      if (isBrowserClientId(clientId)) {
        return browserSessions.findLiveHolder(credential);
      }
      // The account has no record that could be revoked, so its credentials live as long as their
      // user.
      return findLiveHolder(clientId === ACCOUNT_CLIENT_ID ? withoutClient : credential);
    },
  };
  const userSessions = createUserSessions({ ...withBuiltIn, now: Date.now });
  return { ...withBuiltIn, userSessions };
}
