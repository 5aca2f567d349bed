import { ConfigurationError } from '@gatehouse/configuration';
import type { Store } from '@gatehouse/store';
import type { ClientRegistry } from './clients/clients.ts';
import type { Sealer } from './secrets/seal.ts';
import { signingKeyRecord } from './signing-keys/signing-keys.ts';

/** A text in the store, encrypted with its master key. The key is also the encryption context. */
const CANARY_KEY = 'master-key-canary';
const CANARY_TEXT = 'The master key fits.';

/**
 * Checks that the master key belongs to this store. With another key, servers could not read each
 * other's records and would treat tokens as unknown. The first server or command that opens a store
 * claims it for its key, so of two that start together with different keys, one fails.
 *
 * @throws ConfigurationError if the store belongs to another key
 * @throws StoreUnavailableError
 */
export async function assertMasterKeyFits(dependencies: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly clients: ClientRegistry;
}): Promise<void> {
  const { store, sealer, clients } = dependencies;
  const canary = await store.get(CANARY_KEY);
  if (canary !== undefined) {
    // If other records cannot be decrypted, they are damaged. Their readers report them.
    assertOpens(sealer, canary, CANARY_KEY);
    return;
  }
  // A store of an earlier version has no canary. Claim it only if the key decrypts its records.
  if (!(await assertOpensSigningKeys(store, sealer))) {
    await assertOpensSomeClient(clients);
  }
  const sealed = sealer.seal(CANARY_TEXT, CANARY_KEY);
  assertOpens(sealer, await store.claim(CANARY_KEY, sealed), CANARY_KEY);
}

/** @returns whether the store contains signing keys */
async function assertOpensSigningKeys(store: Store, sealer: Sealer): Promise<boolean> {
  let found = false;
  for (const record of [
    signingKeyRecord('authorization-server', 'RS256'),
    signingKeyRecord('gateway', 'EdDSA'),
  ]) {
    const sealed = await store.get(record);
    if (sealed !== undefined) {
      assertOpens(sealer, sealed, record);
      found = true;
    }
  }
  return found;
}

/** One client suffices: commands of earlier versions could write clients with another key. */
async function assertOpensSomeClient(clients: ClientRegistry): Promise<void> {
  const holders = (await clients.list()).filter((client) => client.sealedSecureKeys.length > 0);
  if (holders.length > 0 && !holders.some((client) => clients.secureKeys(client).length > 0)) {
    throw refusal();
  }
}

function assertOpens(sealer: Sealer, sealed: string, context: string): void {
  if (!succeeds(() => sealer.open(sealed, context))) {
    throw refusal();
  }
}

function refusal(): ConfigurationError {
  const message = 'names a key that differs from the master key of this store';
  return new ConfigurationError([{ name: 'MASTER_KEY_FILE', message }]);
}

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
