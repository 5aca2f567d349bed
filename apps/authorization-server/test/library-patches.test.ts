/** At start, every patch of oidc-provider checks that the library has the shape that it needs. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import Provider from 'oidc-provider';
import type { Joint, PatchDependencies } from '../src/provider/patches.ts';
import { applyPatches, LibraryShapeError, patches } from '../src/provider/patches.ts';
import { startInProcess } from './in-process-server.ts';

const library = new URL('../', import.meta.resolve('oidc-provider'));
const joints = patches.flatMap((patch) =>
  patch.joints.map((joint) => [patch.name, joint.name, joint] as const),
);

test.each(patches.map((patch) => [patch.name, patch] as const))(
  'the patch %s has joints, and changes an existing file of the library',
  (_name, { joints: needed, libraryFile }) => {
    expect(needed).not.toHaveLength(0);
    expect(existsSync(fileURLToPath(new URL(libraryFile, library)))).toBe(true);
  },
);

test.each(joints)('the patch %s rejects a library without %s', (patchName, jointName, joint) => {
  const provider = new Provider('http://localhost');
  const restore = breakJoint(provider, joint);
  try {
    const apply = () => applyPatches(provider, {} as PatchDependencies);
    expect(apply).toThrow(LibraryShapeError);
    expect(apply).toThrow(`the patch "${patchName}" needs ${jointName}`);
  } finally {
    restore();
  }
});

test('another library ends the start with a message that names the patch and the instructions', async () => {
  const restore = breakJoint(undefined, joints[0]?.[2]);
  await expect(startInProcess()).rejects.toThrow(
    /oidc-provider has changed: .*current-context.*Provider\.ctx.*09-oidc-provider-patches\.md/s,
  );
  restore();
});

/** Removes the member from the object that has it. */
function breakJoint(provider: Provider | undefined, joint: Joint | undefined): () => void {
  const holder = joint?.holderOf(provider as Provider);
  if (joint === undefined || holder === undefined) {
    throw new Error('The joint does not exist in the installed version.');
  }
  const { member } = joint;
  const descriptor = Object.getOwnPropertyDescriptor(holder, member);
  Object.defineProperty(holder, member, { value: undefined, configurable: true });
  return () => {
    Reflect.deleteProperty(holder, member);
    if (descriptor !== undefined) {
      Object.defineProperty(holder, member, descriptor);
    }
  };
}
