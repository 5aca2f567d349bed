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

/**
 * A browser keeps an expired interaction this long, so that its page starts again, and the mark of a
 * completed one, so that Back leads to the application.
 */
const EXPIRED_SECONDS = 60 * 60;

/**
 * Keeps an interaction in the browser until the user submits a correct password or a decision. From
 * then on it is worth a sign-in, so it moves to the store, where it is used once. Its cookie is
 * worth no more than the GET /authorize that created it. A completed interaction is rejected,
 * because the store remembers its end.
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
      if (payload.completed === true) {
        return undefined;
      }
      const holder = await findLiveHolder({ issuedAt: payload.iat ?? 0 });
      return holder === undefined ? undefined : payload;
    },
    async destroy(id) {
      // The store holds and remembers only submitted interactions. Otherwise a client that ignores
      // the path of the cookie could write a record with each request.
      const submitted = await stored.find(id);
      if (submitted === undefined) {
        cookies.clear(id);
        return;
      }
      await store.set(endedKey(id), '', lifetimes.Interaction);
      await stored.destroy(id);
      const { client_id, redirect_uri } = submitted.params ?? {};
      const mark = { completed: true, params: { client_id, redirect_uri } };
      cookies.write(id, JSON.stringify(mark), EXPIRED_SECONDS);
    },
  });
}
