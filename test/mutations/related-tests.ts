import { dirname } from 'node:path';
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
 * The test files that execute the block: first those in the same folder, then those that are fast,
 * execute many blocks of this file and killed many mutants of it. The sum of their times stays
 * within the budget, unless one file exceeds it.
 */
export function relatedTests(
  { path, block, blocks }: MutatedCode,
  reach: readonly TestReach[],
  killers: ReadonlyMap<string, number>,
  budgetMilliseconds: number,
): readonly RelatedTest[] {
  const isOfFile = (name: string) => name === path || name.startsWith(`${path}#`);
  const rank = ({ file, milliseconds, blocks: reached }: TestReach) => [
    Number(milliseconds > SLOW_MILLISECONDS),
    Number(dirname(file) !== dirname(path)),
    milliseconds / reached.filter(isOfFile).length / (1 + (killers.get(file) ?? 0)),
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

function compare(one: readonly number[], other: readonly number[]): number {
  const index = one.findIndex((value, at) => value !== other[at]);
  return index === -1 ? 0 : (one[index] ?? 0) - (other[index] ?? 0);
}
