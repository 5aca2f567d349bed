import { StoreUnavailable } from '@gatehouse/store';
import { type Adapter, errors } from 'oidc-provider';

/** RFC 6749 §4.1.2.1 names the code; the status tells proxies and clients to try again. */
export class TemporarilyUnavailable extends errors.OIDCProviderError {
  override error_description = 'The store is unavailable. Try again shortly.';
  override expose = true;
  override allow_redirect = false;

  constructor(cause: StoreUnavailable) {
    super(503, 'temporarily_unavailable', { cause });
  }
}

/** The library answers an unknown error with 500 and would log it raw: a store that is away is 503. */
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

async function translate<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof StoreUnavailable ? new TemporarilyUnavailable(error) : error;
  }
}
