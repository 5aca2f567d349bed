import { StoreUnavailableError } from '@gatehouse/store';
import type { Adapter } from 'oidc-provider';
import { TemporarilyUnavailableError } from './temporarily-unavailable-error.ts';

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

async function translate<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof StoreUnavailableError ? new TemporarilyUnavailableError(error) : error;
  }
}
