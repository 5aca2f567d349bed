import { StoreUnavailableError } from '@gatehouse/store';
import type { SigningAlgorithm, SigningKey } from './signing-key.ts';
import {
  DamagedSigningKeysError,
  KEY_RELOAD_SECONDS,
  loadSigningKeys,
  type SigningKeyDependencies,
  type SigningKeys,
  type SigningPurpose,
} from './signing-keys.ts';

/** The signing keys of a running process, which reads them every minute and rotates them. */
export interface KeptSigningKeys {
  /**
   * @throws StoreUnavailableError before the first success, or if the record of the keys is damaged
   */
  load(): Promise<SigningKeys>;
  current(): Promise<SigningKey>;
  /** A JWKS document (RFC 7517 §5). */
  jwks(): Promise<{ readonly keys: readonly SigningKey['publicJwk'][] }>;
}

export function keepSigningKeys(
  purpose: SigningPurpose,
  algorithm: SigningAlgorithm,
  dependencies: SigningKeyDependencies,
): KeptSigningKeys {
  const { now = Date.now } = dependencies;
  let kept: { readonly keys: Promise<SigningKeys>; readonly readAt: number } | undefined;

  function load(): Promise<SigningKeys> {
    const readAt = now();
    const last = kept;
    const age = last === undefined ? 0 : readAt - last.readAt;
    if (last !== undefined && age >= 0 && age < KEY_RELOAD_SECONDS * 1000) {
      return last.keys;
    }
    const keys = loadSigningKeys(purpose, algorithm, dependencies).catch((error: unknown) => {
      // The last keys stay in use while the store is unavailable.
      const isOutage =
        error instanceof StoreUnavailableError && !(error instanceof DamagedSigningKeysError);
      if (last !== undefined && isOutage) {
        return last.keys;
      }
      kept = undefined;
      throw error;
    });
    kept = { keys, readAt };
    return keys;
  }

  return {
    load,
    current: async () => (await load()).current,
    jwks: async () => ({ keys: (await load()).all.map((key) => key.publicJwk) }),
  };
}
