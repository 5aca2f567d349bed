import { addressGroupOf } from '../../http/address-group-of.ts';
import type { FailedSecrets } from '../../throttle/failed-secrets.ts';
import { presentedClientOf } from '../patches/client-lookups.ts';
import type { ProviderMiddleware } from './provider-middleware.ts';

/** A 401 counts as a failed secret. patches/client-lookups.ts applies the limit (CA-06, CA-17). */
export function countFailedSecrets(failedSecrets: FailedSecrets): ProviderMiddleware {
  return async (context, next) => {
    await next();
    const clientId = presentedClientOf(context.req);
    if (clientId !== undefined && context.status === 401) {
      await failedSecrets.record(clientId, addressGroupOf(context.req));
    }
  };
}
