import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { DatabaseEngine } from '../database/tables.ts';
import type { Comparison, Condition } from './condition.ts';
import type { Sort } from './query.ts';

/** The SQL of each column. */
export type ColumnExpressions = Readonly<Record<string, Expression<unknown>>>;

/** Compiles a condition to SQL. Every value is a parameter and every column is known. */
export function compileCondition(
  condition: Condition,
  columns: ColumnExpressions,
  engine: DatabaseEngine,
): Expression<SqlBool> {
  if (condition.kind === 'comparison') {
    return compileComparison(condition, columnOf(condition.column, columns), engine);
  }
  const parts = condition.of.map((part) => compileCondition(part, columns, engine));
  return sql<SqlBool>`(${sql.join(parts, condition.kind === 'all' ? sql` and ` : sql` or `)})`;
}

function columnOf(name: string, columns: ColumnExpressions): Expression<unknown> {
  const column = columns[name];
  if (column === undefined) {
    throw new Error(`The column ${name} has no SQL.`);
  }
  return column;
}

/**
 * No column is null, so a negation finds exactly the other records. A missing value is empty or 0.
 */
function compileComparison(
  { operator, values }: Comparison,
  column: Expression<unknown>,
  engine: DatabaseEngine,
): Expression<SqlBool> {
  const [first, second] = values;
  switch (operator) {
    case 'eq':
      return sql`${column} = ${first}`;
    case 'not':
      return sql`${column} <> ${first}`;
    case 'gt':
      return sql`${column} > ${first}`;
    case 'gte':
      return sql`${column} >= ${first}`;
    case 'lt':
      return sql`${column} < ${first}`;
    case 'lte':
      return sql`${column} <= ${first}`;
    case 'like':
      return like(sql``);
    case 'nlike':
      return like(sql`not`);
    case 'in':
      return sql`${column} in (${sql.join(values)})`;
    case 'nin':
      return sql`${column} not in (${sql.join(values)})`;
    case 'btw':
      return sql`${column} between ${first} and ${second}`;
    case 'nbtw':
      return sql`${column} not between ${first} and ${second}`;
    case 'isnull':
      return sql`${column} is null`;
    case 'notnull':
      return sql`${column} is not null`;
    case 'empty':
      return sql`${column} = ${first}`;
    case 'nempty':
      return sql`${column} <> ${first}`;
  }

  /** Case-sensitive on both engines. LIKE of SQLite ignores case, GLOB does not. */
  function like(negation: Expression<unknown>): Expression<SqlBool> {
    return engine === 'sqlite'
      ? sql`${column} ${negation} glob ${toGlob(String(first))}`
      : sql`${column} ${negation} like ${first} escape '\\'`;
  }
}

export function toGlob(pattern: string): string {
  return pattern.replace(/\\(.)|[%_*?[]/gsu, (match, escaped: string | undefined) => {
    const literal = escaped ?? (match === '%' || match === '_' ? undefined : match);
    if (literal === undefined) {
      return match === '%' ? '*' : '?';
    }
    return /[*?[]/.test(literal) ? `[${literal}]` : literal;
  });
}

/** A total order, so that pages neither repeat nor miss records. */
export interface Ordering {
  readonly defaultSorts: readonly Sort[];
  /** The direction of the id relative to the last column, as in the indexes. */
  readonly tieBreak: 'same' | 'opposite';
}

/** The columns with their directions, for `orderBy`. The id is the last one. */
export function orderings(
  sorts: readonly Sort[],
  columns: ColumnExpressions,
  { defaultSorts, tieBreak }: Ordering,
): RawBuilder<unknown> {
  const wanted = sorts.length > 0 ? sorts : defaultSorts;
  const last = wanted.at(-1);
  const idDescends = last !== undefined && last.descending === (tieBreak === 'same');
  const all = wanted.some(({ column }) => column === 'id')
    ? wanted
    : [...wanted, { column: 'id', descending: idDescends }];
  return sql.join(
    all.map(({ column, descending }) =>
      descending ? sql`${columnOf(column, columns)} desc` : sql`${columnOf(column, columns)} asc`,
    ),
  );
}
