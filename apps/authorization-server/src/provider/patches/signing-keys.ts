import type { SigningKeys } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import { libraryInternals, requireInternals } from './library-internals.ts';
import { methodJoint, type Patch, propertyJoint } from './patch.ts';

const keystoreOf: Parameters<typeof methodJoint>[1] = (provider) =>
  libraryInternals(provider)?.keystore;

/** Used by middleware/keep-jwks-current.ts after each rotation of the keys. */
export const signingKeys: Patch = {
  name: 'signing-keys',
  reason:
    'The library reads its signing keys only when it is constructed, and a new provider for each ' +
    'rotation would lose state (docs/decisions/18-key-rotation.md).',
  libraryFile: 'lib/helpers/initialize_keystore.js',
  joints: [
    methodJoint('keystore', keystoreOf, 'clear', 0),
    methodJoint('keystore', keystoreOf, 'add', 1),
    propertyJoint('provider state', libraryInternals, 'jwks', (value) =>
      Array.isArray((value as { readonly keys?: unknown } | undefined)?.keys),
    ),
  ],
};

/**
 * Replaces the signing keys in one synchronous step. The library signs with the first key that
 * fits, so the current one comes first.
 */
export function installSigningKeys(provider: Provider, keys: SigningKeys): void {
  const internals = requireInternals(provider);
  internals.keystore.clear();
  for (const key of keys.all) {
    internals.keystore.add({ ...key.privateJwk });
  }
  internals.jwks = { keys: keys.all.map((key) => key.publicJwk) };
}
