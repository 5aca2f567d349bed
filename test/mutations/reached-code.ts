import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../source-tree.ts';
import { listBlocks, markBlocks } from './code-blocks.ts';
import { isMutated, type MutatedFolder, mutatedFolders } from './folders.ts';
import { runTests } from './run-tests.ts';
import type { ScratchTree } from './scratch-tree.ts';

/** What one test file executes in the mutated folders, also through processes that it starts. */
export interface TestReach {
  readonly file: string;
  /** Of the test file itself. */
  readonly digest: string;
  readonly milliseconds: number;
  /** Names of blocks. Empty if the file fails or takes too long. */
  readonly blocks: readonly string[];
}

/** Slower test files are never run for a mutant. */
const SLOWEST_MILLISECONDS = 90_000;

export interface ReachOptions {
  readonly resultsFile: string;
  /** Runs only new test files that are not slow. */
  readonly quick: boolean;
  readonly print: (line: string) => void;
}

/**
 * Returns the reach of each test file of the folders. Runs only the files that are new or changed,
 * in a tree whose blocks report their execution.
 */
export async function measureReach(
  folders: readonly MutatedFolder[],
  scratch: ScratchTree,
  { resultsFile, quick, print }: ReachOptions,
): Promise<readonly TestReach[]> {
  const known = readReach(resultsFile);
  const files = listTests(folders, scratch);
  const missing = files.filter((file) =>
    quick
      ? !known.has(file) && !file.endsWith('.slow.test.ts')
      : known.get(file)?.digest !== digestOf(scratch, file),
  );
  if (missing.length > 0) {
    const log = join(scratch.directory, 'reached.log');
    const restore = markTree(scratch, log);
    for (const [index, file] of missing.entries()) {
      rmSync(log, { force: true });
      let run = await runTests(scratch.directory, file, SLOWEST_MILLISECONDS);
      // A busy machine can be the reason of one failure.
      run =
        run.outcome === 'passed'
          ? run
          : await runTests(scratch.directory, file, SLOWEST_MILLISECONDS);
      const reached = existsSync(log) ? readFileSync(log, 'utf8').split('\n') : [];
      known.set(file, {
        file,
        digest: digestOf(scratch, file),
        milliseconds: run.milliseconds,
        blocks: run.outcome === 'passed' ? [...new Set(reached.filter(Boolean))] : [],
      });
      mkdirSync(dirname(resultsFile), { recursive: true });
      writeFileSync(resultsFile, JSON.stringify([...known.values()]));
      const seconds = (run.milliseconds / 1000).toFixed(1);
      print(`${index + 1}/${missing.length} ${run.outcome} ${seconds} s ${file} ${run.message}`);
    }
    restore();
  }
  return files.map((file) => known.get(file)).filter((reach) => reach !== undefined);
}

function readReach(resultsFile: string): Map<string, TestReach> {
  const text = existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8') : '[]';
  return new Map((JSON.parse(text) as TestReach[]).map((reach) => [reach.file, reach]));
}

function listTests(folders: readonly MutatedFolder[], { directory }: ScratchTree) {
  const workspaces = new Set(folders.flatMap((folder) => folder.workspaces));
  return [...workspaces].flatMap((workspace) =>
    globSync(`${workspace}/{src,test}/**/*.test.ts`, { cwd: directory })
      .map((path) => path.replaceAll('\\', '/'))
      .filter((path) => !path.endsWith('.browser.test.ts'))
      .sort(),
  );
}

/** Returns a function that restores the tree. */
function markTree(scratch: ScratchTree, log: string): () => void {
  const paths = mutatedFolders
    .flatMap(({ folder }) => globSync(`${folder}/**/*.ts`, { cwd: root }))
    .map((path) => path.replaceAll('\\', '/'))
    .filter(isMutated);
  const sources = paths.map((path) => [path, scratch.read(path)] as const);
  for (const [path, source] of sources) {
    scratch.write(path, markBlocks(source, listBlocks(path, source), log));
  }
  return () => {
    for (const [path, source] of sources) {
      scratch.write(path, source);
    }
  };
}

function digestOf(scratch: ScratchTree, file: string): string {
  return createHash('sha256').update(scratch.read(file)).digest('hex').slice(0, 16);
}
