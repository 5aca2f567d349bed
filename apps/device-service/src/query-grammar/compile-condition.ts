import { type Expression, type SqlBool, sql } from 'kysely';
import type { DatabaseEngine } from '../tables/tables.ts';
import type { Comparison, Condition } from './condition.ts';

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

export function columnOf(name: string, columns: ColumnExpressions): Expression<unknown> {
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
