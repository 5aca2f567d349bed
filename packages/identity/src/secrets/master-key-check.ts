import { ConfigurationError } from '@gatehouse/server/configuration';
import type { Store } from '@gatehouse/store';
import type { ClientRegistry } from '../clients/clients.ts';
import type { CredentialHash } from '../tokens/credential-keys.ts';
import type { Sealer } from './seal.ts';
import { signingKeyRecord } from './signing-keys.ts';

/** A text in the store, encrypted with its master key. The key is also the encryption context. */
export const CANARY_KEY = 'master-key-canary';
const CANARY_TEXT = 'The master key fits.';
/** The hash of a known text, so that every process finds the records of credentials. */
const CREDENTIAL_CANARY_KEY = 'credential-canary';

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
  readonly credentialHash: CredentialHash;
}): Promise<void> {
  await assertSeals(dependencies);
  await assertHashesCredentials(dependencies);
}

async function assertSeals(dependencies: {
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

/** Without its last lines, a rotated key file would make all tokens unknown without an error. */
async function assertHashesCredentials(dependencies: {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
}): Promise<void> {
  const { store, credentialHash } = dependencies;
  const hash = credentialHash(CREDENTIAL_CANARY_KEY);
  const found = await store.get(CREDENTIAL_CANARY_KEY);
  // A full store accepts it, so that an upgrade can start.
  const held =
    found ?? (await store.claim(CREDENTIAL_CANARY_KEY, hash, undefined, { revokes: true }));
  if (held !== hash) {
    const message =
      'names a file without the credential-pepper line of this store. Copy the whole file';
    throw new ConfigurationError([{ name: 'MASTER_KEY_FILE', message }]);
  }
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
