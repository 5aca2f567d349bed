import type Provider from 'oidc-provider';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';

/**
 * Switches on `response_type=token` (RFC 6749 §4.2), which the specification asks for. The library refuses it at
 * construction and still carries all of it: login, consent, redirect and fragment are its own path. This is the
 * one place that reaches inside; the exact version is pinned, and it says so when a version does not take it.
 * To be called before the first client is looked up: clients are checked against these sets.
 */
export function enableImplicit(provider: Provider): void {
  const { configuration } = instance(provider) ?? {};
  if (!Array.isArray(configuration?.responseTypes) || !(configuration.grantTypes instanceof Set)) {
    throw new Error('This version of oidc-provider keeps its response types elsewhere.');
  }
  configuration.responseTypes.push('token');
  configuration.grantTypes.add('implicit');
}
