/**
 * `npm run test:mutations -- [folder or file…] [--sample 60] [--seed 1] [--again]`: changes one
 * thing at a time in a copy of the tree and runs the related tests. A mutant that no test notices
 * (a survivor) is a missing test or an equivalent change; docs/mutations.md lists them.
 *
 *   folders ─▶ list-mutants ─▶ sample ─▶ scratch-tree ─▶ related-tests ─▶ run-tests ─▶ results (resumable)
 *
 * Without a folder it runs all of them. The results file remembers each mutant by the content of
 * its file, so that a run that was interrupted continues where it ended. `--again` retries the
 * survivors, after tests were added.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../source-tree.ts';
import { type MutatedFolder, mutatedFolders } from './folders.ts';
import { applyMutant, listMutants, type Mutant } from './list-mutants.ts';
import { relatedTests } from './related-tests.ts';
import { runTests } from './run-tests.ts';
import { createScratchTree, type ScratchTree } from './scratch-tree.ts';

/** Detects a mutant that creates an endless loop. */
const MINIMUM_DEADLINE_MILLISECONDS = 60_000;
const DEADLINE_FACTOR = 4;

interface Candidate {
  readonly path: string;
  readonly source: string;
  readonly mutant: Mutant;
  /** Unchanged between runs with the same file and seed. */
  readonly key: string;
}

interface Result {
  readonly key: string;
  readonly folder: string;
  /** The file, the line and the change, for the report. */
  readonly change: string;
  /** The test that noticed the mutant. Undefined for a survivor. */
  readonly killedBy?: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    results: { type: 'string', default: 'data/mutations.jsonl' },
    again: { type: 'boolean', default: false },
  },
});
const resultsFile = join(root, values.results);
const print = (line: string) => process.stdout.write(`${line}\n`);
const isSelected = (path: string) =>
  positionals.length === 0 || positionals.some((name) => path.startsWith(name));
const folders = mutatedFolders.filter(
  ({ folder }) => isSelected(folder) || positionals.some((name) => name.startsWith(folder)),
);
const scratch = createScratchTree();
process.once('exit', scratch.remove);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(1));
}
mkdirSync(dirname(resultsFile), { recursive: true });
const summaries = [];
for (const folder of folders) {
  summaries.push(await mutateFolder(folder));
}
print(['', ...summaries].join('\n'));

async function mutateFolder(folder: MutatedFolder): Promise<string> {
  const candidates = sampleOf(folder.folder);
  const known = readResults();
  const baselines = new Map<string, Promise<number>>();
  const results: Result[] = [];
  for (const candidate of candidates) {
    const earlier = known.get(candidate.key);
    const result = earlier ?? (await tryMutant(folder, candidate, baselines));
    if (earlier === undefined) {
      appendFileSync(resultsFile, `${JSON.stringify(result)}\n`);
    }
    results.push(result);
    const verdict = result.killedBy === undefined ? 'SURVIVED' : 'killed  ';
    print(`${results.length}/${candidates.length} ${verdict} ${result.change}`);
  }
  const killed = results.filter(({ killedBy }) => killedBy !== undefined).length;
  const percentage = ((100 * killed) / Math.max(1, results.length)).toFixed(1);
  return `${folder.folder}: ${killed} of ${results.length} killed (${percentage} %)`;
}

async function tryMutant(
  folder: MutatedFolder,
  { path, source, mutant, key }: Candidate,
  baselines: Map<string, Promise<number>>,
): Promise<Result> {
  const change = describe(path, source, mutant);
  for (const files of relatedTests(path, folder)) {
    const name = files.join(' ');
    const baseline = baselines.get(name) ?? measureBaseline(scratch, files);
    baselines.set(name, baseline);
    const deadline = Math.max(MINIMUM_DEADLINE_MILLISECONDS, DEADLINE_FACTOR * (await baseline));
    scratch.write(path, applyMutant(source, mutant));
    const killedBy = await findKiller(files, deadline);
    scratch.write(path, source);
    if (killedBy !== undefined) {
      return { key, folder: folder.folder, change, killedBy };
    }
  }
  return { key, folder: folder.folder, change };
}

/** A test can fail on a busy machine without a reason, so it counts only if it fails twice. */
async function findKiller(files: readonly string[], deadline: number): Promise<string | undefined> {
  for (;;) {
    const run = await runTests(scratch.directory, files, deadline);
    if (run.failed === undefined) {
      return run.passed ? undefined : 'the time limit';
    }
    const { file, name } = run.failed;
    const again = await runTests(scratch.directory, [file], deadline, name);
    if (!again.passed) {
      return `${file}: ${name ?? 'it does not run'}`;
    }
  }
}

/** Tests that fail without a mutant would kill every mutant. */
async function measureBaseline(tree: ScratchTree, files: readonly string[]): Promise<number> {
  const run = await runTests(tree.directory, files, 1_000_000);
  if (!run.passed) {
    throw new Error(`The tests fail without a mutant: ${run.failed?.file}: ${run.failed?.name}`);
  }
  return run.milliseconds;
}

/** Selects the requested number of mutants of a folder, in an order that depends on the seed. */
function sampleOf(folder: string): readonly Candidate[] {
  const candidates = globSync(`${folder}/**/*.ts`, { cwd: scratch.directory })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => isSelected(path) && !/\.test\.ts$|-contract\.ts$|\/index\.ts$/.test(path))
    .flatMap((path) => {
      const source = readFileSync(join(scratch.directory, path), 'utf8');
      return listMutants(source).map((mutant) => ({
        path,
        source,
        mutant,
        key: digest([values.seed, path, source, JSON.stringify(mutant)]),
      }));
    });
  return candidates
    .sort((one, other) => (one.key < other.key ? -1 : 1))
    .slice(0, Number(values.sample));
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16);
}

function readResults(): ReadonlyMap<string, Result> {
  const lines = existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8').split('\n') : [];
  const results = lines.filter(Boolean).map((line) => JSON.parse(line) as Result);
  return new Map(
    results
      .filter(({ killedBy }) => killedBy !== undefined || !values.again)
      .map((result) => [result.key, result]),
  );
}

function describe(path: string, source: string, { start, end, operator, replacement }: Mutant) {
  const bytes = Buffer.from(source);
  const line = bytes.toString('utf8', 0, start).split('\n').length;
  const shown = (text: string) => text.replace(/\s+/g, ' ').slice(0, 80);
  const before = shown(bytes.toString('utf8', start, end));
  return `${path}:${line} ${operator}: \`${before}\` to \`${shown(replacement)}\``;
}
