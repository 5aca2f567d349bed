import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from '../source-tree.ts';

/** A copy of the files that git does not ignore, so that a mutant never changes the working tree. */
export interface ScratchTree {
  readonly directory: string;
  read(path: string): string;
  write(path: string, text: string): void;
  remove(): void;
}

/** The apps run as processes, so a mutant must be in a file, not in the memory of the test. */
export function createScratchTree(): ScratchTree {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-mutations-'));
  for (const path of listFiles()) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    cpSync(join(root, path), join(directory, path));
  }
  // Uses hard links if the file system supports them. Only the links of the workspaces must point
  // into this tree.
  const modules = [join(root, 'node_modules'), join(directory, 'node_modules')];
  if (spawnSync('cp', ['-al', ...modules]).status !== 0) {
    rmSync(modules[1] ?? '', { recursive: true, force: true });
    cpSync(modules[0] ?? '', modules[1] ?? '', { recursive: true, verbatimSymlinks: true });
  }
  return {
    directory,
    read: (path) => readFileSync(join(directory, path), 'utf8'),
    write: (path, text) => writeFileSync(join(directory, path), text),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

function listFiles(): readonly string[] {
  const options = ['-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = spawnSync('git', ['ls-files', ...options], { cwd: root, encoding: 'utf8' });
  return stdout.split('\0').filter(Boolean);
}
