import type { TestReach } from './reached-code.ts';

/** Slower files run last. */
const SLOW_MILLISECONDS = 15_000;

export interface RelatedTest {
  readonly file: string;
  readonly milliseconds: number;
}

/** Where a mutant is. */
export interface MutatedCode {
  readonly path: string;
  /** The block that the mutant changes, or the one that no longer runs. */
  readonly block: string;
  /** All blocks of the file. */
  readonly blocks: ReadonlySet<string>;
}

/**
 * The test files that execute the block, in the order in which they run: those that killed most
 * mutants of this file, those with a similar name, the fast ones. The sum of their times stays
 * within the budget, unless one file exceeds it.
 */
export function relatedTests(
  { path, block, blocks }: MutatedCode,
  reach: readonly TestReach[],
  killers: ReadonlyMap<string, number>,
  budgetMilliseconds: number,
): readonly RelatedTest[] {
  const rank = ({ file, milliseconds }: TestReach) => [
    Number(milliseconds > SLOW_MILLISECONDS),
    -(killers.get(file) ?? 0),
    -similarity(path, file),
    milliseconds,
  ];
  // If the source file has changed since the measurement, only the tests that load it are known.
  const isOutdated = (reached: readonly string[]) =>
    reached.some((name) => name.startsWith(`${path}#`) && !blocks.has(name));
  const ordered = reach
    .filter(({ blocks: reached }) => reached.includes(isOutdated(reached) ? path : block))
    .map((test) => ({ test, rank: rank(test) }))
    .sort((one, other) => compare(one.rank, other.rank))
    .map(({ test }) => test);
  let sum = 0;
  return ordered.filter(({ milliseconds }) => {
    const fits = sum === 0 || sum + milliseconds <= budgetMilliseconds;
    sum += fits ? milliseconds : 0;
    return fits;
  });
}

/** The number of words that both names contain. */
function similarity(path: string, test: string): number {
  const others = wordsOf(test);
  return wordsOf(path).filter((word) => others.includes(word)).length;
}

/** Of the file and its folder, without the plural. */
function wordsOf(path: string): readonly string[] {
  const names = path
    .replace(/(\.slow)?(\.test)?\.ts$/, '')
    .split('/')
    .slice(-2);
  return names.flatMap((name) => name.split('-')).map((word) => word.replace(/s$/, ''));
}

function compare(one: readonly number[], other: readonly number[]): number {
  const index = one.findIndex((value, at) => value !== other[at]);
  return index === -1 ? 0 : (one[index] ?? 0) - (other[index] ?? 0);
}
