import { illegalArgument } from '@gatehouse/errors';
import { MAXIMUM_PAGE_SIZE, type Query } from './query.ts';

export interface Count {
  readonly total: number;
  /** False: there are at least `total`. */
  readonly isExact: boolean;
}

export interface Page<Row> extends Count {
  readonly rows: readonly Row[];
}

export interface PageSource<Row> {
  rows(limit: number, offset: number): Promise<readonly Row[]>;
  count(): Promise<Count>;
}

/**
 * The maximum number of records before a page. The database reads each of them. To read all
 * records, a client queries those after the last one (`where: id > <last>`, `orderBy: id`), which
 * costs the same for every page.
 */
export const MAXIMUM_OFFSET = 100_000;

/** Counting stops here, because it reads every record. Maintained counts have no limit. */
export const COUNT_LIMIT = 10_000;

/** @throws ApiError `illegal_argument` for an existing page beyond the maximum offset */
export async function readPage<Row>(query: Query, source: PageSource<Row>): Promise<Page<Row>> {
  if (!query.paging) {
    return readEverything(source);
  }
  if (query.offset > MAXIMUM_OFFSET) {
    return rejectDeepPage(query.offset, source);
  }
  const rows = await source.rows(query.pageSize, query.offset);
  const isLast = rows.length < query.pageSize && (rows.length > 0 || query.offset === 0);
  if (isLast) {
    return { rows, total: query.offset + rows.length, isExact: true };
  }
  const count = knownCount(query) ?? (await source.count());
  return { ...count, rows };
}

/** A known total that equals the limit may come from a count that stopped there. */
function knownCount({ knownTotal }: Query): Count | undefined {
  return knownTotal === undefined
    ? undefined
    : { total: knownTotal, isExact: knownTotal !== COUNT_LIMIT };
}

/** A page past the end is empty at any offset. */
async function rejectDeepPage<Row>(offset: number, source: PageSource<Row>): Promise<Page<Row>> {
  const count = await source.count();
  if (!count.isExact || count.total > offset) {
    const message = `pages cover the first ${MAXIMUM_OFFSET} records: restrict the query, or query the records after the last one`;
    throw illegalArgument([{ property: 'pageIndex', message }]);
  }
  return { ...count, rows: [] };
}

/** Rejects a result that is too large instead of truncating it. */
async function readEverything<Row>(source: PageSource<Row>): Promise<Page<Row>> {
  const rows = await source.rows(MAXIMUM_PAGE_SIZE + 1, 0);
  if (rows.length > MAXIMUM_PAGE_SIZE) {
    const message = `there are more than ${MAXIMUM_PAGE_SIZE} records: use pages`;
    throw illegalArgument([{ property: 'paging', message }]);
  }
  return { rows, total: rows.length, isExact: true };
}
