/** Label → allowed values. Values can be added later. */
export type LabelValues = Readonly<Record<string, readonly string[]>>;

/** Replaces a label value that is not declared. */
const OTHER = 'other';

interface Level<Cell> {
  readonly path: readonly string[];
  readonly next: Map<string, Level<Cell>>;
  cell: Cell | undefined;
}

/**
 * Finds a cell with one small map per label, so a request builds no text. Cells are created on
 * first use. A metric without labels has its cell from the start.
 */
export function labelledCells<Cell>(labels: LabelValues, make: () => Cell) {
  const names = Object.keys(labels);
  const root: Level<Cell> = { path: [], next: new Map(), cell: undefined };

  function descend(level: Level<Cell>, depth: number, value: string): Level<Cell> {
    const known = labels[names[depth] ?? '']?.includes(value) === true ? value : OTHER;
    let next = level.next.get(known);
    if (next === undefined) {
      next = { path: [...level.path, known], next: new Map(), cell: undefined };
      level.next.set(known, next);
    }
    return next;
  }

  function collect(level: Level<Cell>): readonly { path: readonly string[]; cell: Cell }[] {
    const own = level.cell === undefined ? [] : [{ path: level.path, cell: level.cell }];
    return [...own, ...[...level.next.values()].flatMap(collect)];
  }

  if (names.length === 0) {
    root.cell = make();
  }
  return {
    /** Returns the cell of these label values, in the declared order of labels. */
    of(...values: readonly string[]): Cell {
      let level = root;
      for (let depth = 0; depth < names.length; depth += 1) {
        const value = values[depth] ?? OTHER;
        level = level.next.get(value) ?? descend(level, depth, value);
      }
      level.cell ??= make();
      return level.cell;
    },
    entries: () =>
      collect(root).map(({ path, cell }) => ({
        labels: Object.fromEntries(names.map((name, depth) => [name, path[depth] ?? OTHER])),
        cell,
      })),
  };
}

/** Counts durations in buckets. A request costs one addition and no memory. */
export class Histogram {
  sum = 0;
  readonly #bounds: readonly number[];
  /** The last element counts durations above all bounds. */
  readonly #counts: Float64Array;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /** @param seconds the measured duration */
  observe(seconds: number): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && seconds > (bounds[index] ?? 0)) {
      index += 1;
    }
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.sum += seconds;
  }

  /** Returns each upper bound with the number of durations up to it. The last bound is infinity. */
  cumulative(): readonly (readonly [bound: number, count: number])[] {
    let total = 0;
    return [...this.#bounds, Number.POSITIVE_INFINITY].map((bound, index) => {
      total += this.#counts[index] ?? 0;
      return [bound, total] as const;
    });
  }
}
