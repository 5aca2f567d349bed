/**
 * Everything that replaces a method of oidc-provider or reaches into its private state, in the
 * order in which it is applied. Prefer the library's documented settings, its adapters (adapters/)
 * and Koa middleware (middleware/) to a new entry. docs/decisions/09-oidc-provider-patches.md
 * describes how to upgrade the library.
 */
import type Provider from 'oidc-provider';
import { clientLookups } from './client-lookups.ts';
import { clientPermissions } from './client-permissions.ts';
import { currentContextOfLibrary } from './current-context.ts';
import { formPostMode } from './form-post-mode.ts';
import { implicitResponseType } from './implicit-response-type.ts';
import { LibraryShapeError } from './library-shape-error.ts';
import type { Patch, PatchDependencies } from './patch.ts';
import { refreshTokenGrant } from './refresh-token-grant.ts';
import { refreshTokenValues } from './refresh-token-values.ts';
import { secureKeysOfTokens } from './secure-keys-of-tokens.ts';
import { sessionEnd } from './session-end.ts';
import { signingKeys } from './signing-keys.ts';

export const patches: readonly Patch[] = [
  currentContextOfLibrary,
  implicitResponseType,
  formPostMode,
  signingKeys,
  refreshTokenGrant,
  refreshTokenValues,
  sessionEnd,
  clientPermissions,
  secureKeysOfTokens,
  clientLookups,
];

/**
 * @throws LibraryShapeError before anything is changed, when the library lacks what a patch needs
 */
export function applyPatches(provider: Provider, dependencies: PatchDependencies): void {
  for (const patch of patches) {
    assertShape(provider, patch);
  }
  for (const patch of patches) {
    patch.apply?.(provider, dependencies);
  }
}

function assertShape(provider: Provider, patch: Patch): void {
  for (const joint of patch.joints) {
    const holder = joint.holderOf(provider);
    if (holder === undefined || !joint.isExpected(holder)) {
      throw new LibraryShapeError(patch, joint);
    }
  }
}
