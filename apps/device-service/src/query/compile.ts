import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { DatabaseEngine } from '../database/tables.ts';
import type { QueryColumns } from './columns.ts';
import type { Comparison, Condition, Operator } from './condition.ts';
import type { QuerySubject, Sort } from './query.ts';

/** Compiles a condition to SQL. Every value is a parameter and every column is known. */
export function compileCondition(
  condition: Condition,
  columns: QueryColumns,
  engine: DatabaseEngine,
): Expression<SqlBool> {
  if (condition.kind === 'comparison') {
    return compileComparison(condition, columnOf(condition.column, columns), engine);
  }
  const parts = condition.of.map((part) => compileCondition(part, columns, engine));
  return sql<SqlBool>`(${sql.join(parts, condition.kind === 'all' ? sql` and ` : sql` or `)})`;
}

function columnOf(name: string, columns: QueryColumns): Expression<unknown> {
  const column = columns[name];
  if (column === undefined) {
    throw new Error(`The column ${name} has no SQL.`);
  }
  return column.sql;
}

/** A missing value is empty or 0, so a negation finds exactly the other records. */
const signs: Partial<Record<Operator, RawBuilder<unknown>>> = {
  eq: sql`=`,
  not: sql`<>`,
  gt: sql`>`,
  gte: sql`>=`,
  lt: sql`<`,
  lte: sql`<=`,
  empty: sql`=`,
  nempty: sql`<>`,
};

function compileComparison(
  { operator, values }: Comparison,
  column: Expression<unknown>,
  engine: DatabaseEngine,
): Expression<SqlBool> {
  const [first, second] = values;
  const not = operator.startsWith('n') ? sql`not ` : sql``;
  switch (operator) {
    case 'like':
    case 'nlike':
      // Case-sensitive on both engines. LIKE of SQLite ignores case, GLOB does not.
      return engine === 'sqlite'
        ? sql`${column} ${not}glob ${toGlob(String(first))}`
        : sql`${column} ${not}like ${first} escape '\\'`;
    case 'in':
    case 'nin':
      return sql`${column} ${not}in (${sql.join(values)})`;
    case 'btw':
    case 'nbtw':
      return sql`${column} ${not}between ${first} and ${second}`;
    case 'isnull':
      return sql`${column} is null`;
    case 'notnull':
      return sql`${column} is not null`;
    default:
      return sql`${column} ${signs[operator] ?? sql`=`} ${first}`;
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

/** The columns with their directions, for `orderBy`. The id is the last one. */
export function orderOf(
  sorts: readonly Sort[],
  { columns, ordering }: QuerySubject,
): RawBuilder<unknown> {
  const wanted = sorts.length > 0 ? sorts : [{ column: ordering.newestBy, descending: true }];
  const idDescends = wanted.at(-1)?.descending === (ordering.tieBreak === 'same');
  const all = wanted.some(({ column }) => column === 'id')
    ? wanted
    : [...wanted, { column: 'id', descending: idDescends }];
  return sql.join(
    all.map(({ column, descending }) =>
      descending ? sql`${columnOf(column, columns)} desc` : sql`${columnOf(column, columns)} asc`,
    ),
  );
}
