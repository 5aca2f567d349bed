import { ConfigurationError } from '@gatehouse/configuration';
import type { Store } from '@gatehouse/store';
import type { ClientRegistry } from './clients/clients.ts';
import type { Sealer } from './secrets/seal.ts';
import { signingKeyRecord } from './signing-keys/signing-keys.ts';

/** A sealed text by which a master key is known to be the store's; also what it is sealed for. */
const CANARY_KEY = 'master-key-canary';
const CANARY_TEXT = 'The master key fits.';

/**
 * Whether the master key is the one this store is sealed with. With another one, new records would be unreadable for
 * the servers, and a token would look unknown. The first to open a store claims it for its key, be it a server or a
 * command, so that of two that start at once with different keys one is refused.
 *
 * @throws ConfigurationError when it is another one; a store that nobody has used yet fits every key
 * @throws StoreUnavailableError when it cannot be known now
 */
export async function assertMasterKeyFits(dependencies: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly clients: ClientRegistry;
}): Promise<void> {
  const { store, sealer, clients } = dependencies;
  const canary = await store.get(CANARY_KEY);
  if (canary !== undefined) {
    // Other records that do not open are damaged. They are reported where they are used.
    assertOpens(sealer, canary, CANARY_KEY);
    return;
  }
  // Of an earlier version, perhaps: not to be claimed for a key that opens nothing in it.
  if (!(await assertOpensSigningKeys(store, sealer))) {
    await assertOpensSomeClient(clients);
  }
  const sealed = sealer.seal(CANARY_TEXT, CANARY_KEY);
  assertOpens(sealer, await store.claim(CANARY_KEY, sealed), CANARY_KEY);
}

/** @returns whether there are any */
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

/** One is enough: what commands once sealed with another key must not keep out the right one. */
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
  const message = 'names another key than the one this store is sealed with';
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
