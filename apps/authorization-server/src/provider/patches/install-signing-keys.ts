import type { SigningKeys } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';

/**
 * Replaces the provider's signing keys in one synchronous step. The library signs with the first key that fits, so
 * the current one comes first.
 */
export function installSigningKeys(provider: Provider, keys: SigningKeys): void {
  const internals = instance(provider);
  if (typeof internals?.keystore?.clear !== 'function' || !Array.isArray(internals.jwks?.keys)) {
    throw new Error('This version of oidc-provider keeps its signing keys elsewhere.');
  }
  internals.keystore.clear();
  for (const key of keys.all) {
    internals.keystore.add({ ...key.privateJwk });
  }
  internals.jwks = { keys: keys.all.map((key) => key.publicJwk) };
}
