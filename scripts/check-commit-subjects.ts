import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const maximumLength = 72;
/** Commits up to this one are older than the rule. */
const lastUnchecked = 'b41b050a6f629446a478cd5b49abbe68d355d082';

const root = join(import.meta.dirname, '..');

// A tarball has no history. Without this test, git would find the repository that contains it.
if (existsSync(join(root, '.git'))) {
  for (const { commit, subject } of newCommits()) {
    if (subject.length > maximumLength) {
      console.error(
        `Commit ${commit} has a subject of ${subject.length} characters, the maximum is ${maximumLength}: ${subject}`,
      );
      process.exitCode = 1;
    }
    if (!subject.includes(' ')) {
      console.error(
        `Commit ${commit} has a subject of one word, which explains nothing: ${subject}`,
      );
      process.exitCode = 1;
    }
  }
} else {
  console.log('No git history: commit subjects are not checked.');
}

function newCommits(): readonly { readonly commit: string; readonly subject: string }[] {
  return git('log', '--no-merges', '--format=%h %s', firstCommits())
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({
      commit: line.slice(0, line.indexOf(' ')),
      subject: line.slice(line.indexOf(' ') + 1),
    }));
}

/**
 * A shallow clone may end after the last unchecked commit. Then every commit that it has is newer.
 */
function firstCommits(): string {
  const { status } = spawnGit('cat-file', '-e', `${lastUnchecked}^{commit}`);
  return status === 0 ? `${lastUnchecked}..HEAD` : 'HEAD';
}

function git(...args: string[]): string {
  const { status, stdout, stderr, error } = spawnGit(...args);
  if (status !== 0) {
    throw new Error(`git ${args.join(' ')} failed: ${error?.message ?? stderr}`);
  }
  return stdout;
}

function spawnGit(...args: string[]) {
  return spawnSync('git', args, { cwd: root, encoding: 'utf8' });
}
