import type { Adapter } from 'oidc-provider';

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
