import type { Store } from '@gatehouse/store';
import { grantTombstoneKey } from '../secrets/credential-keys.ts';

/**
 * Whether the grant has a tombstone. A revocation also deletes the tokens in the index of the
 * grant. The tombstone protects against a lost index.
 */
export async function isGrantRevoked(store: Store, grantId: string): Promise<boolean> {
  return (await store.get(grantTombstoneKey(grantId))) !== undefined;
}
