/**
 * RFC 8707: the APIs that tokens are for. The library reads the parameter `resource` and records the
 * audience. This file knows which resources exist, and which scopes a client and a user have there.
 * A token without a resource is for the default resource of its client, or for the device API.
 */
import {
  canonicalResource,
  findResource,
  type Identity,
  identityScopes,
  isOperatorApi,
  isScopeForRoles,
  type Settings,
  scopesOfResource,
} from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';
import {
  type Client,
  type Configuration,
  errors,
  type Grant,
  type KoaContextWithOIDC,
  type ResourceServer,
  type ResourceServerInstance,
} from 'oidc-provider';
import { contextOf } from '../requests/request-context.ts';

type ResourceIndicators = NonNullable<NonNullable<Configuration['features']>['resourceIndicators']>;

/** The settings, which `serveWith` reads before the provider serves a request. */
export function settingsOf({ req }: Pick<KoaContextWithOIDC, 'req'>): Settings {
  const { settings } = contextOf(req);
  if (settings === undefined) {
    throw new StoreUnavailableError('get', new Error('The settings were not read.'));
  }
  return settings;
}

/** The scopes that a client is registered for, of every resource. The library knows some of them. */
const scopesOf = (client: Client | undefined): readonly string[] =>
  (client?.registeredScopes as readonly string[] | undefined) ?? [];

const defaultResourceOf = (client: Client | undefined) =>
  client?.defaultResource as string | undefined;

/** Undefined for the device API, and for what is not a resource: the library asks `infoOf` later. */
function declared(resource: unknown, settings: Settings): string | undefined {
  return typeof resource === 'string' ? findResource(resource, settings)?.resource : undefined;
}

/**
 * Whether a request can give a token for the API of the console: it names the API, or nothing and
 * the API is the default of the client.
 */
export function asksForOperatorApi(
  { resource }: Readonly<Record<string, unknown>>,
  defaultResource: unknown,
  settings: Settings,
): boolean {
  return [resource ?? defaultResource]
    .flat()
    .some((each) => isOperatorApi(canonicalResource(String(each)), settings));
}

/**
 * Puts the requested resources into the form in which they are declared.
 *
 * @returns the scopes of the client that the request can get: those of OpenID Connect, and those of
 *   the requested resources
 */
export function settleResources(context: KoaContextWithOIDC): readonly string[] {
  const { client, params } = context.oidc;
  const { resource } = params ?? {};
  const canonical = (each: unknown) => canonicalResource(String(each));
  if (params !== undefined && resource !== undefined) {
    params.resource = Array.isArray(resource) ? resource.map(canonical) : canonical(resource);
  }
  const settings = settingsOf(context);
  const scopes = scopesOf(client);
  const requested = [params?.resource ?? defaultResourceOf(client)].flat();
  const granted = new Set<string>([
    ...identityScopes,
    ...requested.flatMap((each) => scopesOfResource(scopes, declared(each, settings), settings)),
  ]);
  return scopes.filter((scope) => granted.has(scope));
}

export function resourceIndicators(identity: Pick<Identity, 'settings'>): ResourceIndicators {
  return {
    enabled: true,
    // The published types do not allow that there is none.
    defaultResource: (_context, client, oneOf) =>
      (oneOf as string[] | undefined) ?? (defaultResourceOf(client) as string),
    useGrantedResource: (context, { resource }) =>
      resource !== undefined && resource === defaultResourceOf(context.oidc.client),
    getResourceServerInfo: (context, resource, client) =>
      infoOf(context, resource, { client, identity }),
  };
}

/** @throws InvalidTarget if the resource does not exist, or the client has no scope there */
async function infoOf(
  context: KoaContextWithOIDC,
  resource: string,
  { client, identity }: { readonly client: Client; readonly identity: Pick<Identity, 'settings'> },
): Promise<ResourceServer> {
  const settings = settingsOf(context);
  const found = findResource(resource, settings);
  if (found === undefined && !(await identity.settings.isDeviceApi(resource))) {
    throw new errors.InvalidTarget('the resource is unknown');
  }
  const scopes = scopesOfResource(scopesOf(client), declared(resource, settings), settings);
  if (scopes.length === 0) {
    throw new errors.InvalidTarget('this client has no scope of the resource');
  }
  // A token for the API of the console must not be in an address.
  if (isOperatorApi(resource, settings) && hasTokenInAddress(context)) {
    throw new errors.InvalidTarget('this resource needs the response type code');
  }
  const { tokenFormat: accessTokenFormat = 'opaque' } = found ?? {};
  return { scope: scopes.join(' '), audience: resource, accessTokenFormat };
}

const hasTokenInAddress = ({ oidc }: KoaContextWithOIDC) =>
  String(oidc.params?.response_type).split(' ').includes('token');

/**
 * The resource of a token request that no handler of the library serves.
 *
 * @param granted the resources of the credential that the request redeems. Undefined: all
 * @throws InvalidTarget for more than one resource, or one that is unknown or not allowed
 */
export async function requestedResource(
  context: KoaContextWithOIDC,
  identity: Pick<Identity, 'settings'>,
  granted?: string | string[],
): Promise<ResourceServerInstance | undefined> {
  const { client, params, provider } = context.oidc;
  const resource = params?.resource ?? granted ?? defaultResourceOf(client);
  if (resource === undefined || client === undefined) {
    return undefined;
  }
  if (typeof resource !== 'string') {
    throw new errors.InvalidTarget('name exactly one resource');
  }
  if (granted !== undefined && ![granted].flat().includes(resource)) {
    throw new errors.InvalidTarget('the resource was not granted');
  }
  // The published types do not contain this class of the library.
  const { ResourceServer: Server } = provider as unknown as {
    readonly ResourceServer: new (id: string, info: ResourceServer) => ResourceServerInstance;
  };
  return new Server(resource, await infoOf(context, resource, { client, identity }));
}

/**
 * Grants scopes of resources. A scope for roles that the user does not have is noted as rejected, so
 * that the library does not ask for it again.
 *
 * @param requested scopes by resource
 */
export function grantResourceScopes(
  grant: Grant,
  requested: Readonly<Record<string, readonly string[]>>,
  { roles, settings }: { readonly roles: readonly string[]; readonly settings: Settings },
): void {
  for (const [resource, scopes] of Object.entries(requested)) {
    const allowed = scopes.filter((scope) => isScopeForRoles(scope, roles, settings));
    const rejected = scopes.filter((scope) => !allowed.includes(scope));
    if (allowed.length > 0) {
      grant.addResourceScope(resource, allowed.join(' '));
    }
    if (rejected.length > 0) {
      grant.rejectResourceScope(resource, rejected.join(' '));
    }
  }
}
