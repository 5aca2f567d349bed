import {
  type Client,
  type ClientRegistry,
  type Identity,
  redirectUriProblem,
} from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import {
  type Adapter,
  type AdapterPayload,
  errors,
  type KoaContextWithOIDC,
  type ResponseType,
} from 'oidc-provider';
import { basicClientId } from '../requests/caller.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';

/**
 * Reads clients from the registry. The library calls no other operation for clients.
 *
 * @param supported the grants of the provider; a client may be registered for more
 */
export function createClientAdapter(clients: ClientRegistry, supported: Grants): Adapter {
  const adapter: Pick<Adapter, 'find'> = {
    async find(clientId) {
      const client = await clients.find(clientId);
      if (client?.enabled !== true) {
        // The same work as for a known client with a wrong secret, so that timing reveals nothing
        // (CWE-203).
        clients.verifySecret(client, clientId);
        return undefined;
      }
      const metadata = toMetadata(client, supported);
      assertRedirectUris(client, metadata);
      return metadata;
    },
  };
  return adapter as Adapter;
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

/**
 * RFC 7591 names. `client_secret` is never the real one: `compareClientSecret` asks the registry.
 */
function toMetadata(client: Client, supported: Grants): AdapterPayload {
  const grantTypes = client.grantTypes.filter((grantType) => Object.hasOwn(supported, grantType));
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

export const ACCOUNT_CLIENT_ID = 'gatehouse:account';
export const SIGNED_IN_PATH = '/account/signed-in';

/**
 * The account page is a built-in client of this server. Users sign in to it through the ordinary
 * flow, with its throttle and session, and an operator cannot disable or delete it.
 */
export function withAccountClient(identity: Identity, issuer: string): Identity {
  const { clients, findLiveHolder } = identity;
  const account: Client = {
    clientId: ACCOUNT_CLIENT_ID,
    name: 'Account',
    orgId: '',
    signatureAlgorithm: 'SHA-256',
    grantTypes: ['authorization_code'],
    redirectUris: [issuer + SIGNED_IN_PATH],
    postLogoutRedirectUris: [],
    scopes: ['openid'],
    applicationType: 'web',
    public: true,
    firstParty: true,
    resourceServer: false,
    ownOrganizationOnly: false,
    corsOrigins: [],
    ipAllowList: [],
    enabled: true,
    notBefore: 0,
    sealedSecureKeys: [],
    secureKeyCreatedAt: {},
    removedKeyIds: [],
    keptKeyIds: [],
  };
  return {
    ...identity,
    clients: {
      ...clients,
      find: async (clientId) => (clientId === ACCOUNT_CLIENT_ID ? account : clients.find(clientId)),
    },
    // It has no record that could be revoked, so its credentials live as long as their user.
    findLiveHolder: ({ clientId, ...credential }) =>
      findLiveHolder(clientId === ACCOUNT_CLIENT_ID ? credential : { ...credential, clientId }),
  };
}

export type SecurityProfile = 'compatible' | 'strict';

/** What the server has to know about a grant type. token/grants.ts lists all of them. */
export interface Grant {
  /** The `strict` profile rejects it for all clients (RFC 9700 §2.1.2, §2.4). */
  readonly isLegacy?: true;
  /** The platform endpoint serves it (Method C of the specification). */
  readonly isOfPlatform?: true;
  /** Parameters of its token request, in addition to `grant_type`, the client's and `scope`. */
  readonly parameters?: readonly string[];
  /** Those that belong into the body only: in a URL, they would reach logs and histories. */
  readonly secrets?: readonly string[];
  /** Adds a grant that the library does not have, or replaces one of the library. */
  readonly register?: (provider: Provider, dependencies: GrantDependencies) => void;
}

export interface GrantDependencies {
  readonly securityProfile: SecurityProfile;
  readonly signIn: SignIn;
}

export type Grants = Readonly<Record<string, Grant>>;

/** The grant types that the server supports. A client may be registered for more. */
export function supportedGrants(grants: Grants, profile: SecurityProfile): Grants {
  return Object.fromEntries(
    Object.entries(grants).filter(([, { isLegacy }]) => profile === 'compatible' || !isLegacy),
  );
}

/** The client id that a request presents, authenticated or not. Empty if there is none. */
export function presentedClientId({ oidc, headers }: KoaContextWithOIDC): string {
  const { client, params } = oidc;
  if (client !== undefined || typeof params?.client_id === 'string') {
    return client?.clientId ?? String(params?.client_id);
  }
  return basicClientId(headers.authorization);
}
