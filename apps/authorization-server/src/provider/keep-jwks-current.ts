import type { KeptSigningKeys, SigningKeys } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';
import type { ProviderMiddleware } from './provider-middleware.ts';

/**
 * Brings a rotated signing key into the running provider. The library reads its keys at construction and keeps
 * them in a store that can be refilled; a second provider would lose what others registered with the first.
 */
export function keepJwksCurrent(provider: Provider, kept: KeptSigningKeys): ProviderMiddleware {
  let installed: SigningKeys | undefined;
  return async (_context, next) => {
    const keys = await kept.load();
    if (keys !== installed) {
      install(provider, keys);
      installed = keys;
    }
    await next();
  };
}

/** In one go, without waiting in between. The first that fits signs, so the current one comes first. */
function install(provider: Provider, keys: SigningKeys): void {
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
