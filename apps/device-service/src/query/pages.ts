import {
  type Expression,
  type RawBuilder,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely';
import type { OrganizationDatabase } from '../database/organization-database.ts';
import type { DatabaseEngine, Tables } from '../database/tables.ts';
import { type Comparison, type Condition, type Operator, queryError } from './condition.ts';
import {
  MAXIMUM_PAGE_SIZE,
  type Query,
  type QueryColumn,
  type QueryColumns,
  type QuerySubject,
  type Sort,
} from './query.ts';

interface Count {
  readonly total: number;
  /** False: there are at least `total`. */
  readonly isExact: boolean;
}

export interface Page<Row> extends Count {
  readonly rows: readonly Row[];
}

/** The rows that a page shows. */
export interface Window {
  readonly limit: number;
  readonly offset: number;
}

/**
 * The maximum number of records before a page. The database reads each of them. To read all
 * records, a client queries those after the last one (`where: id > <last>`, `orderBy: id`), which
 * costs the same for every page.
 */
export const MAXIMUM_OFFSET = 100_000;

/** Counting stops here, because it reads every record. Maintained counts have no limit. */
export const COUNT_LIMIT = 10_000;

/**
 * Rejects a result that is too large instead of truncating it.
 *
 * @throws ApiError `illegal_argument` for an existing page beyond the maximum offset
 */
export async function readPage<Row>(
  query: Query,
  source: { rows(window: Window): Promise<readonly Row[]>; count(): Promise<Count> },
): Promise<Page<Row>> {
  const { paging, offset, knownTotal: total } = query;
  const limit = paging ? query.pageSize : MAXIMUM_PAGE_SIZE + 1;
  const isDeep = offset > MAXIMUM_OFFSET;
  const rows = isDeep ? [] : await source.rows({ limit, offset });
  if (rows.length < limit && (rows.length > 0 || offset === 0)) {
    return { rows, total: offset + rows.length, isExact: true };
  }
  if (!paging) {
    throw queryError('paging', `there are more than ${MAXIMUM_PAGE_SIZE} records: use pages`);
  }
  // A total that equals the limit may come from a count that stopped there.
  const count =
    total === undefined || isDeep
      ? await source.count()
      : { total, isExact: total !== COUNT_LIMIT };
  // A page past the end is empty at any offset.
  if (isDeep && (!count.isExact || count.total > offset)) {
    const message = `pages cover the first ${MAXIMUM_OFFSET} records: restrict the query, or query the records after the last one`;
    throw queryError('pageIndex', message);
  }
  return { ...count, rows };
}

/** Counts records up to the limit. */
export async function countUpToLimit(
  database: OrganizationDatabase,
  records: Parameters<typeof countQuery>[1],
): Promise<Count> {
  return toCount(await countQuery(database, records).execute());
}

/** Counts records, but not more than the limit. */
export function countQuery(
  { tables }: OrganizationDatabase,
  records: SelectQueryBuilder<Tables, never, object>,
  limit: number = COUNT_LIMIT + 1,
) {
  const found = records.select(sql.lit(1).as('found')).limit(limit).as('found');
  return tables
    .selectFrom(found)
    .select((expression) => expression.fn.countAll<number>().as('total'));
}

export function toCount([row]: readonly { readonly total: number }[]): Count {
  const total = row?.total ?? 0;
  return { total: Math.min(total, COUNT_LIMIT), isExact: total <= COUNT_LIMIT };
}

/** The rows as JSON texts, with the selected fields. */
export function printRows<Row>(
  page: Page<Row>,
  { fields }: Query,
  describe: (row: Row) => object,
): Page<string> {
  const select = (item: object) =>
    fields === undefined
      ? item
      : Object.fromEntries(Object.entries(item).filter(([name]) => fields.has(name)));
  return { ...page, rows: page.rows.map((row) => JSON.stringify(select(describe(row)))) };
}

/**
 * A page in the form of operation 6. `totalIsExact: false` means that counting stopped early: there
 * are at least `total` records.
 */
export function replyWithPage({ rows, total, isExact }: Page<string>, query: Query) {
  const count = JSON.stringify({
    pageIndex: query.pageIndex,
    pageSize: query.paging ? query.pageSize : rows.length,
    total,
    ...(isExact ? {} : { totalIsExact: false }),
  });
  return { json: `${count.slice(0, -1)},"data":[${rows.join(',')}]}` };
}

/** Only the items, for operations 1 and 2. The count is in headers. */
export function replyWithItems({ rows, total, isExact }: Page<string>) {
  const headers = {
    'X-Total-Count': String(total),
    ...(isExact ? {} : { 'X-Total-Count-Exact': 'false' }),
  };
  return { json: `[${rows.join(',')}]`, headers };
}

/** Compiles a condition to SQL. Every value is a parameter and every column is known. */
export function compileCondition(
  condition: Condition | undefined,
  columns: QueryColumns,
  engine: DatabaseEngine,
): Expression<SqlBool> {
  if (condition === undefined) {
    return sql`true`;
  }
  if (condition.kind === 'comparison') {
    const { sql: column } = columns[condition.column] as QueryColumn;
    return compileComparison(condition, column, engine);
  }
  const parts = condition.of.map((part) => compileCondition(part, columns, engine));
  return sql<SqlBool>`(${sql.join(parts, condition.kind === 'all' ? sql` and ` : sql` or `)})`;
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
  const last = wanted.at(-1);
  const idDescends = last?.descending === (ordering.tieBreak === 'same');
  // An id before the last column already decides the order, so a second one changes nothing.
  const all =
    last?.column === 'id' ? wanted : [...wanted, { column: 'id', descending: idDescends }];
  return sql.join(
    all.map(({ column: name, descending }) => {
      const { sql: column } = columns[name] as QueryColumn;
      return descending ? sql`${column} desc` : sql`${column} asc`;
    }),
  );
}
