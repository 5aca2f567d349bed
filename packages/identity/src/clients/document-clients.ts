/**
 * Clients whose id is the address of the document that describes them (OAuth Client ID Metadata
 * Document). No operator registers them. The settings say which hosts are accepted, and what these
 * clients can ask for. A change of the settings takes effect for their tokens as well.
 */
import { memoized } from '../records/record.ts';
import { isDeviceScope } from '../settings/resource.ts';
import type { Settings } from '../settings/settings.ts';
import type { Client } from './client.ts';

/** The key of a record must fit into the cache of records. */
const MAXIMUM_LENGTH = 200;

/** Whether a document can describe the client with this id. All other ids are those of operators. */
export const isDocumentAddress = (clientId: string): boolean => clientId.startsWith('https://');

/**
 * The host of a client id, and whether an operator listed it by name. Undefined if it is not the
 * address of a document on an accepted host. An address with a port could belong to another program
 * on the host.
 */
export function documentHost(
  clientId: string,
  { clientIdMetadata: { hosts } }: Settings,
): { readonly host: string; readonly isListed: boolean } | undefined {
  const url = isDocumentAddress(clientId) ? URL.parse(clientId) : null;
  const isAddress =
    url?.href === clientId &&
    clientId.length <= MAXIMUM_LENGTH &&
    url.pathname !== '/' &&
    ['username', 'password', 'port', 'hash'].every((part) => Reflect.get(url, part) === '');
  const isListed = isAddress && hosts.includes(url.hostname);
  return isListed || (isAddress && hosts.includes('*'))
    ? { host: url.hostname, isListed }
    : undefined;
}

/**
 * Applies the settings to a client, if a document describes it. Undefined if its host is no longer
 * accepted.
 */
export const createDocumentRules = () =>
  memoized((settings: Settings) =>
    memoized(
      (client: Client) =>
        documentHost(client.clientId, settings) && withAllowedScopes(client, settings),
    ),
  );

/** What its client can ask for: without scopes, a document asks for all that are allowed. */
export const documentScopes = (
  scopes: readonly string[],
  { clientIdMetadata }: Settings,
): readonly string[] =>
  clientIdMetadata.scopes.filter((scope) => scopes.length === 0 || scopes.includes(scope));

function withAllowedScopes(client: Client, settings: Settings): Client {
  const scopes = documentScopes(client.scopes, settings);
  const [first] = scopes.flatMap((scope) => settings.scopes.get(scope)?.resource.resource ?? []);
  return { ...client, scopes, defaultResource: scopes.some(isDeviceScope) ? undefined : first };
}
