import type { Identity } from './open-identity.ts';
import { masterKeyProblem } from './secrets/master-key.ts';

/** A text in the store, encrypted with its master key. The key is also the encryption context. */
export const CANARY_KEY = 'master-key-canary';
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
export async function assertMasterKeyFits(identity: Identity): Promise<void> {
  const { store, sealer, credentialHash } = identity;
  // A full store accepts both, so that an upgrade can start.
  const hold = async (key: string, value: string) =>
    (await store.get(key)) ?? (await store.claim(key, value, undefined, { revokes: true }));
  const sealed = await hold(CANARY_KEY, sealer.seal('The master key fits.', CANARY_KEY));
  if (sealer.tryOpen(sealed, CANARY_KEY) === undefined) {
    throw masterKeyProblem('names a key that differs from the master key of this store');
  }
  // Without its last lines, a rotated key file would make all tokens unknown without an error.
  const hash = credentialHash(CREDENTIAL_CANARY_KEY);
  if ((await hold(CREDENTIAL_CANARY_KEY, hash)) !== hash) {
    throw masterKeyProblem(
      'names a file without the credential-pepper line of this store. Copy the whole file',
    );
  }
}
