import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider';
import type { SealedCookies } from '../../http/sealed-cookies.ts';
import { isDeviceRoute } from '../policy/device-grant.ts';

/**
 * Keeps the session of a browser in which nobody has signed in out of the store. All that it holds is the token of the
 * device page's form, so it is kept for that page alone, in the browser. Elsewhere it holds nothing that is needed again.
 */
export function keepAnonymousSessionsInBrowser(stored: Adapter, cookies: SealedCookies): Adapter {
  return {
    async upsert(id: string, payload: AdapterPayload, expiresIn: number) {
      if (payload.accountId !== undefined) {
        await stored.upsert(id, payload, expiresIn);
      } else if (Provider.ctx !== undefined && isDeviceRoute(Provider.ctx)) {
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
    findByUid: (uid) => stored.findByUid(uid),
    findByUserCode: (userCode) => stored.findByUserCode(userCode),
    consume: (id) => stored.consume(id),
    revokeByGrantId: (grantId) => stored.revokeByGrantId(grantId),
  };
}
