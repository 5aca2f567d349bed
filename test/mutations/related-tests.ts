import type { TestReach } from './reached-code.ts';

/** Slower files run last. */
const SLOW_MILLISECONDS = 15_000;

export interface RelatedTest {
  readonly file: string;
  readonly milliseconds: number;
}

/**
 * The test files that execute the skipped code, in the order in which they run: those that killed most
 * mutants of this file, those with a similar name, the fast ones. The sum of their times stays
 * within the budget, unless one file exceeds it.
 */
export function relatedTests(
  path: string,
  { block, skipped }: { readonly block: string; readonly skipped: string },
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
  // A block that has changed since the measurement is unknown.
  const isKnown = reach.some(({ blocks }) => blocks.includes(block));
  const ordered = reach
    .filter(({ blocks }) => blocks.includes(isKnown ? skipped : path))
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
