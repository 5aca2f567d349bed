import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './source-tree.ts';

/**
 * The release that an upgrade starts from. There is no release yet, so it is a commit of earlier that
 * day: without rotation of the master key and without exports of the audit trail.
 * Replace it by the tag of the last release.
 */
const PREVIOUS_RELEASE = 'a8904f94dc1252c21977a6d98776ebd65596085b';

/**
 * Extracts the source of the previous release into a new folder. It uses the installed dependencies
 * of this release.
 *
 * @throws Error in a clone without history
 */
export function extractPreviousRelease(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-previous-'));
  const archive = readArchive();
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '@gatehouse'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '@gatehouse') {
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
    }
  }
  // Each package has the name of its folder.
  for (const name of readdirSync(join(folder, 'packages'))) {
    symlinkSync(join('..', '..', 'packages', name), join(modules, '@gatehouse', name));
  }
  return folder;
}

function readArchive(): Buffer {
  try {
    return execFileSync('git', ['archive', '--format=tar', PREVIOUS_RELEASE, 'apps', 'packages'], {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (cause) {
    throw new Error(
      `The history has no commit ${PREVIOUS_RELEASE}. In a shallow clone, run git fetch --unshallow.`,
      { cause },
    );
  }
}
