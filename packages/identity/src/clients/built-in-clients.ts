/** Clients that have no record: the account page, the console, and the hosts in `browserHosts`. */
import { deriveKey, lastingKey, type MasterKey } from '../secrets/master-key.ts';
import { BROWSER_CALLBACK_PATH, originOf } from '../settings/browser-host.ts';
import { operatorApiOf, operatorScopes } from '../settings/operators.ts';
import type { Settings } from '../settings/settings.ts';
import type { Client } from './client.ts';
import type { createClientKeys } from './client-keys.ts';

/**
 * The client of a host in `browserHosts`, which has one redirect URI. So the authorization server
 * sends users to no other address, and the account page shows and revokes each application.
 */
export function browserClientOf(clientId: string, settings: Settings): Client | undefined {
  const entry = settings.browserHosts.get(clientId);
  if (entry === undefined) {
    return undefined;
  }
  const { host, name, orgId = '', enabled } = entry;
  return builtInClient({
    clientId,
    name,
    orgId,
    ownOrganizationOnly: entry.orgId !== undefined,
    redirectUris: [originOf(host) + BROWSER_CALLBACK_PATH],
    postLogoutRedirectUris: [`${originOf(host)}/`],
    enabled,
  });
}

export const CONSOLE_CLIENT_ID = 'gatehouse:console';

const HOUR = 60 * 60;

/** With this client, the console signs operators in. Its pushed requests need PKCE. */
function consoleClient(consoleUrl: string): Client {
  return builtInClient({
    clientId: CONSOLE_CLIENT_ID,
    name: 'Gatehouse console',
    public: false,
    grantTypes: ['authorization_code', 'refresh_token'],
    redirectUris: [`${consoleUrl}/callback`],
    postLogoutRedirectUris: [`${consoleUrl}/signed-out`],
    scopes: ['openid', 'profile', ...operatorScopes],
    defaultResource: operatorApiOf(consoleUrl),
    lifetimes: { accessToken: HOUR / 4, refreshToken: 8 * HOUR },
  });
}

/** Where the console is, and the secret of its client. */
export interface Console {
  readonly url: string;
  readonly secret: string;
}

/** With its key. A rotation of the master key does not matter: the key is decrypted at once. */
export function openConsoleClient(
  given: Console | undefined,
  keys: Pick<ReturnType<typeof createClientKeys>, 'withKey' | 'secureKeys'>,
): Client | undefined {
  if (given === undefined) {
    return undefined;
  }
  const client = consoleClient(given.url);
  const opened = { ...client, keys: keys.withKey(client, given.secret, {}) };
  keys.secureKeys(opened);
  return opened;
}

/** Its client secret. A rotation of the master key keeps it, so all processes agree on it. */
export const consoleSecret = (masterKey: MasterKey): string =>
  deriveKey(lastingKey(masterKey, 'credential-pepper'), 'console-client').toString('base64url');

/** Users sign in to such a client, and it gets no scope of an API. */
export function builtInClient(
  members: Pick<Client, 'clientId' | 'name' | 'redirectUris'> & Partial<Client>,
): Client {
  return {
    orgId: '',
    signatureAlgorithm: 'SHA-256',
    grantTypes: ['authorization_code'],
    postLogoutRedirectUris: [],
    scopes: ['openid'],
    defaultResource: undefined,
    applicationType: 'web',
    public: true,
    firstParty: true,
    resourceServer: false,
    ownOrganizationOnly: false,
    corsOrigins: [],
    ipAllowList: [],
    lifetimes: undefined,
    enabled: true,
    notBefore: 0,
    keys: [],
    ...members,
  };
}
