import type Provider from 'oidc-provider';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';

/** The private state of a provider. Nothing else reaches inside the library. */
export const libraryInternals = (provider: Provider) => instance(provider);

/** @throws Error outside the patches whose joints were checked at start */
export function requireInternals(provider: Provider) {
  const internals = libraryInternals(provider);
  if (internals === undefined) {
    throw new Error('oidc-provider has no internal state for this provider.');
  }
  return internals;
}
