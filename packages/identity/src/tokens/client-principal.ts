import { deviceScopes } from '@gatehouse/device-api';
import type { Client } from '../clients/client.ts';
import type { Principal } from './access-tokens.ts';

const principals = new WeakMap<Client, Principal>();

/** A client that authenticates by signature or X-Access-Token has all of its device scopes. */
export function clientPrincipal(client: Client): Principal {
  let principal = principals.get(client);
  if (principal === undefined) {
    principal = {
      clientId: client.clientId,
      orgId: client.orgId,
      userId: undefined,
      subject: client.clientId,
      scopes: new Set(deviceScopes.filter((scope) => client.scopes.includes(scope))),
    };
    principals.set(client, principal);
  }
  return principal;
}
