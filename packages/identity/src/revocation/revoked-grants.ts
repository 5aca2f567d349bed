import type { Store } from '@gatehouse/store';
import { grantTombstoneKey } from '../secrets/credential-keys.ts';

/**
 * Whether the grant was revoked, by its tombstone. A revocation also deletes what the index of the grant names. The
 * tombstone holds where that index was lost.
 */
export async function isGrantRevoked(store: Store, grantId: string): Promise<boolean> {
  return (await store.get(grantTombstoneKey(grantId))) !== undefined;
}
