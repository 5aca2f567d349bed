import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const OWN_PACKAGES = '@gatehouse';

export interface EarlierCommit {
  readonly directory: string;
  remove(): void;
}

/** Checks out a commit with its own packages and the installed dependencies of this checkout. */
export function checkOutCommit(commit: string, directory: string): EarlierCommit {
  execFileSync('git', ['worktree', 'add', '-q', '--detach', directory, commit], { cwd: ROOT });
  const own = join(directory, 'node_modules', OWN_PACKAGES);
  mkdirSync(own, { recursive: true });
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name !== OWN_PACKAGES) {
      symlinkSync(join(ROOT, 'node_modules', name), join(directory, 'node_modules', name));
    }
  }
  for (const name of readdirSync(join(directory, 'packages'))) {
    symlinkSync(join(directory, 'packages', name), join(own, name));
  }
  return {
    directory,
    remove: () => execFileSync('git', ['worktree', 'remove', '--force', directory], { cwd: ROOT }),
  };
}
