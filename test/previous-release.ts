import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './source-tree.ts';

/**
 * The state that an upgrade starts from: the last one before packages were merged and records of
 * clients changed. Replace it by the tag of the last release.
 */
const PREVIOUS_RELEASE = 'b047a9deac2bd1b3f4c496423b9a6e86388b4c77';

/**
 * Extracts the source of the previous release into a new folder. It runs with its own packages, and
 * with the installed libraries of this release.
 *
 * @throws Error in a clone without history
 */
export function extractPreviousRelease(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-previous-'));
  execFileSync('tar', ['-x', '-C', folder], { input: readArchive() });
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '@gatehouse'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '@gatehouse') {
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
    }
  }
  for (const manifest of globSync('{apps,packages}/*/package.json', { cwd: folder })) {
    const { name } = JSON.parse(readFileSync(join(folder, manifest), 'utf8')) as { name: string };
    symlinkSync(join(folder, dirname(manifest)), join(modules, name));
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
