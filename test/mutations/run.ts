/**
 * `npm run test:mutations -- [folder or file…] [--sample 40] [--seed 1] [--again]`: changes one
 * thing at a time in a copy of the tree and runs the tests that execute the changed code. A mutant
 * that no test notices (a survivor) is a missing test or an equivalent change; docs/mutations.md
 * lists them.
 *
 *   folders ─▶ scratch-tree ─▶ reached-code ─▶ list-mutants ─▶ sample ─▶ related-tests ─▶ run-tests
 *
 * Without a folder it runs all of them. The results file remembers each mutant by its block, so
 * that an interrupted run continues. `--again` retries the survivors, after tests were added.
 * `--list` only prints the mutants. `--mutant KEY --tests PATTERN` runs one mutant against the test
 * files whose path matches.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../source-tree.ts';
import { blockAround, listBlocks } from './code-blocks.ts';
import { isMutated, mutatedFolders } from './folders.ts';
import { applyMutant, listMutants, type Mutant } from './list-mutants.ts';
import { measureReach, type TestReach } from './reached-code.ts';
import { type MutatedCode, type RelatedTest, relatedTests } from './related-tests.ts';
import { runTests } from './run-tests.ts';
import { createScratchTree } from './scratch-tree.ts';

/** In milliseconds, and relative to the time without the mutant. Detects an endless loop. */
const DEADLINE_FACTOR = 4;
const MINIMUM_DEADLINE = 10_000;

interface Candidate {
  readonly path: string;
  readonly source: string;
  readonly mutant: Mutant;
  readonly code: MutatedCode;
  /** Changes only if the block around the mutant changes. */
  readonly key: string;
}

interface Result {
  readonly key: string;
  readonly path: string;
  /** The file, the line and the change, for the report. */
  readonly change: string;
  /** The test file that noticed the mutant. Undefined for a survivor. */
  readonly killedBy?: string;
  readonly message?: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string', default: '40' },
    seed: { type: 'string', default: '1' },
    /** The time that the tests of one mutant take without it. */
    'budget-seconds': { type: 'string', default: '40' },
    data: { type: 'string', default: 'data/mutations' },
    again: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    mutant: { type: 'string', multiple: true },
    tests: { type: 'string' },
  },
});
const resultsFile = join(root, values.data, 'results.jsonl');
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
const known = readResults();
if (values.list) {
  for (const { key, path, source, mutant } of folders.flatMap(({ folder }) => sampleOf(folder))) {
    print(`${key} ${describe(path, source, mutant)}`);
  }
  process.exit();
}
const namedTests = values.tests === undefined ? undefined : listNamedTests(values.tests);
const reach = namedTests
  ? []
  : await measureReach(folders, scratch, {
      resultsFile: join(root, values.data, 'reach.json'),
      quick: values.quick,
      print,
    });
const summaries = [];
for (const { folder } of folders) {
  summaries.push(await mutateFolder(folder));
}
print(['', ...summaries].join('\n'));

async function mutateFolder(folder: string): Promise<string> {
  const candidates = sampleOf(folder);
  const results: Result[] = [];
  for (const candidate of candidates) {
    const earlier = known.get(candidate.key);
    const isKnown = earlier !== undefined && (earlier.killedBy !== undefined || !values.again);
    const result = isKnown ? earlier : await tryMutant(candidate, reach);
    // A survivor of the named tests may be killed by others.
    if (!isKnown && (result.killedBy !== undefined || namedTests === undefined)) {
      known.set(result.key, result);
      appendFileSync(resultsFile, `${JSON.stringify(result)}\n`);
    }
    results.push(result);
    const verdict = result.killedBy === undefined ? 'SURVIVED' : 'killed  ';
    print(`${results.length}/${candidates.length} ${verdict} ${result.change}`);
  }
  const killed = results.filter(({ killedBy }) => killedBy !== undefined).length;
  const percentage = ((100 * killed) / Math.max(1, results.length)).toFixed(1);
  return `${folder}: ${killed} of ${results.length} killed (${percentage} %)`;
}

async function tryMutant(candidate: Candidate, reached: readonly TestReach[]): Promise<Result> {
  const { path, source, mutant, code, key } = candidate;
  const result = { key, path, change: describe(path, source, mutant) };
  const budget = 1000 * Number(values['budget-seconds']);
  for (const test of namedTests ?? relatedTests(code, reached, killersOf(path), budget)) {
    const message = await findFailure(candidate, test);
    if (message !== undefined) {
      return { ...result, killedBy: test.file, message };
    }
  }
  return result;
}

/**
 * On a busy machine, tests fail without a reason. Therefore, a failure counts only if the same test
 * fails again. If it is not an assertion, the test must also pass without the mutant, and the time
 * that this takes sets the time limit of the second run.
 */
async function findFailure(
  { path, source, mutant }: Candidate,
  { file, milliseconds }: RelatedTest,
): Promise<string | undefined> {
  const run = async (isMutated: boolean, expectedMilliseconds: number, test?: string) => {
    const deadline = Math.max(MINIMUM_DEADLINE, DEADLINE_FACTOR * expectedMilliseconds);
    scratch.write(path, isMutated ? applyMutant(source, mutant) : source);
    const result = await runTests(scratch.directory, file, deadline, test);
    scratch.write(path, source);
    return result;
  };
  const { outcome, test } = await run(true, milliseconds);
  const control = outcome === 'broken' ? await run(false, 2 * milliseconds, test) : undefined;
  if (outcome === 'passed' || (control !== undefined && control.outcome !== 'passed')) {
    return undefined;
  }
  const again = await run(true, control?.milliseconds ?? milliseconds, test);
  return again.outcome === 'passed' ? undefined : again.message;
}

/** How many mutants of the file each test file has killed. */
function killersOf(path: string): ReadonlyMap<string, number> {
  const killers = new Map<string, number>();
  for (const result of known.values()) {
    if (result.path === path && result.killedBy !== undefined) {
      killers.set(result.killedBy, (killers.get(result.killedBy) ?? 0) + 1);
    }
  }
  return killers;
}

/** Selects the requested number of mutants of a folder, in an order that depends on the seed. */
function sampleOf(folder: string): readonly Candidate[] {
  return globSync(`${folder}/**/*.ts`, { cwd: scratch.directory })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => isSelected(path) && isMutated(path))
    .flatMap(candidatesOf)
    .filter(({ key }) => values.mutant?.includes(key) ?? true)
    .sort((one, other) => (one.key < other.key ? -1 : 1))
    .slice(0, Number(values.sample));
}

/** Their times are not known, so each gets the time limit of a slow one. */
function listNamedTests(pattern: string): readonly RelatedTest[] {
  const files = globSync('{apps,packages,test}/**/*.test.ts', { cwd: scratch.directory }).filter(
    (path) => !path.includes('node_modules') && new RegExp(pattern).test(path),
  );
  if (files.length === 0) {
    throw new Error(`No test file matches ${pattern}.`);
  }
  return files.map((file) => ({ file, milliseconds: 30_000 }));
}

function candidatesOf(path: string): readonly Candidate[] {
  const source = scratch.read(path);
  const blocks = listBlocks(path, source);
  const names = new Set(blocks.map(({ name }) => name));
  return listMutants(source).map((mutant) => {
    const block = blockAround(blocks, mutant);
    const place = [mutant.start - block.start, mutant.end - block.start];
    const change = [block.name, ...place, mutant.replacement, values.seed];
    const at = mutant.skipped ?? mutant.start;
    const code = { path, block: blockAround(blocks, { start: at, end: at }).name, blocks: names };
    return { path, source, mutant, code, key: digest(change.join('\0')) };
  });
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function readResults(): Map<string, Result> {
  const lines = existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8').split('\n') : [];
  const results = lines.filter(Boolean).map((line) => JSON.parse(line) as Result);
  return new Map(results.map((result) => [result.key, result]));
}

function describe(path: string, source: string, { start, end, operator, replacement }: Mutant) {
  const bytes = Buffer.from(source);
  const line = bytes.toString('utf8', 0, start).split('\n').length;
  const shown = (text: string) => text.replace(/\s+/g, ' ').slice(0, 80);
  const before = shown(bytes.toString('utf8', start, end));
  return `${path}:${line} ${operator}: \`${before}\` to \`${shown(replacement)}\``;
}
