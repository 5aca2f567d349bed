import type { IncomingMessage } from 'node:http';
import type { KoaContextWithOIDC } from 'oidc-provider';

/**
 * A device gets a separate grant, which the browser's session does not keep: a sign-out in the
 * browser leaves the device signed in, a second device needs a new consent, and ending one does not
 * end the other.
 */
const deviceRoutes: ReadonlySet<string> = new Set(['code_verification', 'device_resume']);

const sessionGrants = new WeakMap<IncomingMessage, string | undefined>();

export function isDeviceRoute(context: KoaContextWithOIDC): boolean {
  return deviceRoutes.has(context.oidc.route);
}

/** Remembers the session's grant for this client before the device's grant replaces it. */
export function rememberSessionGrant(
  context: KoaContextWithOIDC,
  grantId: string | undefined,
): void {
  sessionGrants.set(context.req, grantId);
}

/** Restores the session's grant, once the device code has its own. */
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
