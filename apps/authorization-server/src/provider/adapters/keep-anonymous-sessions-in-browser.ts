import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { SealedCookies } from '../../http/sealed-cookies.ts';
import { currentContext } from '../patches/current-context.ts';
import { isDeviceRoute } from '../policy/device-grant.ts';
import { wrapAdapter } from './wrap-adapter.ts';

/**
 * Keeps the session of a browser in which nobody has signed in out of the store. All that it holds is the token of the
 * device page's form, so it is kept for that page alone, in the browser. Elsewhere it holds nothing that is needed again.
 */
export function keepAnonymousSessionsInBrowser(stored: Adapter, cookies: SealedCookies): Adapter {
  return wrapAdapter(stored, {
    async upsert(id: string, payload: AdapterPayload, expiresIn: number) {
      const context = currentContext();
      if (payload.accountId !== undefined) {
        await stored.upsert(id, payload, expiresIn);
      } else if (context !== undefined && isDeviceRoute(context)) {
        cookies.write(id, JSON.stringify(payload), expiresIn);
      }
    },
    async find(id) {
      const record = cookies.read(id);
      return record === undefined ? stored.find(id) : (JSON.parse(record) as AdapterPayload);
    },
    async destroy(id) {
      await stored.destroy(id);
      cookies.clear(id);
    },
  });
}
