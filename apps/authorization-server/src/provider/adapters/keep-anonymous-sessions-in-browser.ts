import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { SealedCookies } from '../../http/sealed-cookies.ts';
import { currentContext } from '../patches/current-context.ts';
import { isDeviceRoute } from '../policy/device-grant.ts';
import { wrapAdapter } from './wrap-adapter.ts';

/**
 * Keeps sessions without a user out of the store. They hold only the token of the device page's
 * form, so the browser keeps them for that page. On other pages, nothing of them is needed again.
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
