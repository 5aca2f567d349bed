import Provider from 'oidc-provider';
import { clientAddress } from '../../http/client-address.ts';
import { clientEndpointPaths } from '../../http/provider-routes.ts';
import type { FailedSecrets } from '../../throttle/failed-secrets.ts';

/**
 * Stands around the library's client authentication: before it looks a client up, known or not, the address must
 * not have guessed too often; a 401 counts. Unknown clients are counted like known ones, so that neither answer
 * tells which is which (CA-06, CA-17).
 */
export function limitFailedSecrets(provider: Provider, failedSecrets: FailedSecrets): void {
  const presented = new WeakMap<object, string>();
  const client = provider.Client as unknown as { find(clientId: string): Promise<unknown> };
  const { find } = client;

  client.find = async function findIfAllowed(clientId) {
    const context = Provider.ctx;
    // Later look-ups of the same request are not the caller's own identity.
    const isCaller =
      context !== undefined &&
      clientEndpointPaths.includes(context.path) &&
      !presented.has(context.req);
    if (isCaller) {
      presented.set(context.req, clientId);
      await failedSecrets.assertMayTry(clientId, clientAddress(context.req));
    }
    return find.call(this, clientId);
  };

  provider.use(async (context, next) => {
    await next();
    const clientId = presented.get(context.req);
    if (clientId !== undefined && context.status === 401) {
      await failedSecrets.record(clientId, clientAddress(context.req));
    }
  });
}
