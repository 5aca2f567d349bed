import type { IncomingMessage } from 'node:http';
import type { KoaContextWithOIDC } from 'oidc-provider';

/**
 * A device gets a grant of its own, which the browser's session does not know afterwards: signing out of the browser leaves
 * the television signed in, a second device is asked about again, and ending one does not end the other.
 */
const deviceRoutes: ReadonlySet<string> = new Set(['code_verification', 'device_resume']);

const sessionGrants = new WeakMap<IncomingMessage, string | undefined>();

export function isDeviceRoute(context: KoaContextWithOIDC): boolean {
  return deviceRoutes.has(context.oidc.route);
}

/** Notes the grant that the session holds for this client, before the device's takes its place. */
export function noteSessionGrant(context: KoaContextWithOIDC, grantId: string | undefined): void {
  sessionGrants.set(context.req, grantId);
}

/** Puts it back, once the device's own code knows its grant. */
export function detachDeviceGrant(context: KoaContextWithOIDC): void {
  const { session, client } = context.oidc;
  const clientId = client?.clientId ?? '';
  const authorizations = { ...session?.authorizations };
  const former = sessionGrants.get(context.req);
  const { grantId: _deviceGrant, ...rest } = authorizations[clientId] ?? {};
  if (session !== undefined) {
    session.authorizations = {
      ...authorizations,
      [clientId]: former === undefined ? rest : { ...rest, grantId: former },
    };
  }
}
