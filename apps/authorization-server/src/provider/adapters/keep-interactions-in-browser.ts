import type { CredentialHash, FindLiveHolder } from '@gatehouse/identity';
import type { Store } from '@gatehouse/store';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { SealedCookies } from '../../http/sealed-cookies.ts';
import { lifetimes } from '../policy/lifetimes.ts';
import { wrapAdapter } from './wrap-adapter.ts';

export interface InteractionAdapterDependencies {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
  readonly findLiveHolder: FindLiveHolder;
  readonly cookies: SealedCookies;
}

/** How long a browser keeps an interaction that has expired, so that its page can offer to start again. */
const EXPIRED_SECONDS = 60 * 60;

/**
 * Keeps an interaction in the browser until the person has submitted what it asks for: a password that is right, or a
 * decision. From then on it is worth a sign-in, so it moves to the store, where it is used once. Its cookie is worth no
 * more than the GET /authorize that made it; one that was completed is refused, because the store remembers its end.
 */
export function keepInteractionsInBrowser(
  stored: Adapter,
  { store, credentialHash, findLiveHolder, cookies }: InteractionAdapterDependencies,
): Adapter {
  const endedKey = (id: string) => `interaction-ended:${credentialHash(id)}`;
  return wrapAdapter(stored, {
    async upsert(id: string, payload: AdapterPayload, expiresIn: number) {
      if (payload.result === undefined) {
        cookies.write(id, JSON.stringify(payload), expiresIn + EXPIRED_SECONDS);
        return;
      }
      await stored.upsert(id, payload, expiresIn);
      if ((await store.get(endedKey(id))) !== undefined) {
        await stored.destroy(id);
        throw new errors.SessionNotFound('the interaction was completed before');
      }
      cookies.clear(id);
    },
    async find(id) {
      const record = cookies.read(id);
      if (record === undefined) {
        return stored.find(id);
      }
      const payload = JSON.parse(record) as AdapterPayload;
      const holder = await findLiveHolder({ issuedAt: payload.iat ?? 0 });
      return holder === undefined ? undefined : payload;
    },
    async destroy(id) {
      // Only one that was submitted is in the store, and only its end is remembered. A client that ignores the path of
      // the cookie could otherwise write a record with each request.
      if ((await stored.find(id)) !== undefined) {
        await store.set(endedKey(id), '', lifetimes.Interaction);
      }
      await stored.destroy(id);
      cookies.clear(id);
    },
  });
}
