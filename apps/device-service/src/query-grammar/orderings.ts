import { type Expression, type RawBuilder, sql } from 'kysely';
import { type ColumnExpressions, columnOf } from './compile-condition.ts';
import type { Sort } from './query.ts';

/** A total order, so that pages neither repeat nor miss records. */
export interface Ordering {
  readonly defaultSorts: readonly Sort[];
  /** The direction of the id relative to the last column, as in the indexes. */
  readonly tieBreak: 'same' | 'opposite';
}

/** The columns with their directions. The id is the last one. */
export function orderings(
  sorts: readonly Sort[],
  columns: ColumnExpressions,
  { defaultSorts, tieBreak }: Ordering,
): readonly RawBuilder<unknown>[] {
  const wanted = sorts.length > 0 ? sorts : defaultSorts;
  const last = wanted.at(-1);
  const idDescends = last !== undefined && last.descending === (tieBreak === 'same');
  const all = wanted.some(({ column }) => column === 'id')
    ? wanted
    : [...wanted, { column: 'id', descending: idDescends }];
  return all.map(({ column, descending }) => ordered(columnOf(column, columns), descending));
}

function ordered(column: Expression<unknown>, descending: boolean): RawBuilder<unknown> {
  return descending ? sql`${column} desc` : sql`${column} asc`;
}
