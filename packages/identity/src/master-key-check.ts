import { ConfigurationError } from '@gatehouse/configuration';
import type { Store } from '@gatehouse/store';
import type { Sealer } from './seal.ts';
import { signingKeyRecord } from './signing-keys.ts';

/**
 * Whether the master key is the one this store was sealed with. With another one, new records would be
 * unreadable for the servers, and a token would look unknown.
 *
 * @throws ConfigurationError when it is not; a store that no server has used yet fits every key
 */
export async function assertMasterKeyFits(dependencies: {
  readonly store: Store;
  readonly sealer: Sealer;
}): Promise<void> {
  const { store, sealer } = dependencies;
  for (const record of [
    signingKeyRecord('authorization-server', 'RS256'),
    signingKeyRecord('gateway', 'EdDSA'),
  ]) {
    const sealed = await store.get(record);
    if (sealed !== undefined && !opens(sealer, sealed, record)) {
      const message = 'names another key than the one this store is sealed with';
      throw new ConfigurationError([{ name: 'MASTER_KEY_FILE', message }]);
    }
  }
}

function opens(sealer: Sealer, sealed: string, context: string): boolean {
  try {
    sealer.open(sealed, context);
    return true;
  } catch {
    return false;
  }
}
