import type { Joint, Patch } from './patch.ts';

/** The installed oidc-provider does not have the shape that a patch needs. */
export class LibraryShapeError extends Error {
  constructor(patch: Patch, joint: Joint) {
    super(
      `oidc-provider has changed: the patch "${patch.name}" needs ${joint.name}, which is missing or different ` +
        `in the installed version. Install the version that package.json names, or compare ${patch.libraryFile} of the ` +
        'library and adapt the patch (docs/decisions/09-oidc-provider-patches.md).',
    );
    this.name = 'LibraryShapeError';
  }
}
