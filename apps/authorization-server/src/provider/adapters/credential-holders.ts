import type { IncomingMessage } from 'node:http';
import type { Adapter } from 'oidc-provider';
import { currentContext } from '../patches/current-context.ts';
import { wrapAdapter } from './wrap-adapter.ts';

const holders = new WeakMap<IncomingMessage, string>();

/** The user of the code or token that this request presented. */
export const credentialHolderOf = (request: IncomingMessage) => holders.get(request);

/** A replayed credential is deleted together with its grant before it is audited, so its user is kept here. */
export function rememberHolders(stored: Adapter): Adapter {
  return wrapAdapter(stored, {
    async find(id) {
      const payload = await stored.find(id);
      const context = currentContext();
      if (payload?.accountId !== undefined && context !== undefined) {
        holders.set(context.req, payload.accountId);
      }
      return payload;
    },
  });
}
