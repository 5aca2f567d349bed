/** Clients that have no record: the account page, and the hosts in `browserHosts`. */
import { BROWSER_CALLBACK_PATH, originOf } from '../settings/browser-host.ts';
import type { Settings } from '../settings/settings.ts';
import type { Client } from './client.ts';

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
