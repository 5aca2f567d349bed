import type Provider from 'oidc-provider';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';

/** The private state of a provider. No other file imports an internal module of the library. */
export const libraryInternals = (provider: Provider) => instance(provider);

/**
 * @throws Error if the library has no state for this provider. The joints of the patches exclude
 * this at start.
 */
export function requireInternals(provider: Provider) {
  const internals = libraryInternals(provider);
  if (internals === undefined) {
    throw new Error('oidc-provider has no internal state for this provider.');
  }
  return internals;
}
