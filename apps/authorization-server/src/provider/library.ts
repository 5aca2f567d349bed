/** What every file of this folder takes from the library, and adds to each adapter. */
import { StoreUnavailableError } from '@gatehouse/store';
import Provider, {
  type Adapter,
  type Client,
  errors,
  type KoaContextWithOIDC,
} from 'oidc-provider';

/** The request that the library is serving; undefined outside a request. */
export const currentContext = () => Provider.ctx;

/** The library runs grants after client authentication only, which its types do not show. */
export function authenticatedClient({ oidc }: KoaContextWithOIDC): Client {
  return oidc.client as Client;
}

/**
 * A Koa step around the provider's endpoints. After `await next()`, the reply is complete but not
 * yet written.
 */
export type ProviderMiddleware = Parameters<Provider['use']>[0];

/** The same adapter with some operations replaced. */
export function wrapAdapter(adapter: Adapter, replaced: Partial<Adapter>): Adapter {
  return {
    upsert: (id, payload, expiresIn) => adapter.upsert(id, payload, expiresIn),
    find: (id) => adapter.find(id),
    findByUid: (uid) => adapter.findByUid(uid),
    findByUserCode: (userCode) => adapter.findByUserCode(userCode),
    consume: (id) => adapter.consume(id),
    destroy: (id) => adapter.destroy(id),
    revokeByGrantId: (grantId) => adapter.revokeByGrantId(grantId),
    ...replaced,
  };
}

/** The library would turn an unavailable store into a 500 and log the raw error. */
export function failClosed(adapter: Adapter): Adapter {
  return {
    upsert: (id, payload, expiresIn) => translate(adapter.upsert(id, payload, expiresIn)),
    find: (id) => translate(adapter.find(id)),
    findByUid: (uid) => translate(adapter.findByUid(uid)),
    findByUserCode: (userCode) => translate(adapter.findByUserCode(userCode)),
    consume: (id) => translate(adapter.consume(id)),
    destroy: (id) => translate(adapter.destroy(id)),
    revokeByGrantId: (grantId) => translate(adapter.revokeByGrantId(grantId)),
  };
}

async function translate<Result>(reply: Promise<Result>): Promise<Result> {
  try {
    return await reply;
  } catch (error) {
    throw error instanceof StoreUnavailableError ? new TemporarilyUnavailableError(error) : error;
  }
}

/** RFC 6749 §4.1.2.1 defines the code. The status tells proxies and clients to try again. */
export class TemporarilyUnavailableError extends errors.OIDCProviderError {
  override error_description = 'The store is unavailable. Try again shortly.';
  override expose = true;
  override allow_redirect = false;

  constructor(cause: StoreUnavailableError) {
    super(503, 'temporarily_unavailable', { cause });
  }
}
