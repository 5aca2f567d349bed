import { illegalArgument } from '@gatehouse/api-envelope';
import { MAX_PAGE_SIZE, type Query } from './query.ts';

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
 * How many records may come before a page. A database walks over each of them, so a page costs in proportion
 * to what comes before it; who wants everything asks for what follows the last record seen
 * (`where: id > <last>`, `orderBy: id`), which costs the same on every page.
 */
export const MAX_OFFSET = 100_000;

/** Counting stops here: what is counted is read. What a counter is kept for is counted to the end. */
export const COUNT_LIMIT = 10_000;

/** @throws ApiError `illegal_argument` for a page that exists and is too deep */
export async function readPage<Row>(query: Query, source: PageSource<Row>): Promise<Page<Row>> {
  if (!query.paging) {
    return readEverything(source);
  }
  if (query.offset > MAX_OFFSET) {
    return refuseDeepPage(query.offset, source);
  }
  const rows = await source.rows(query.pageSize, query.offset);
  const isLast = rows.length < query.pageSize && (rows.length > 0 || query.offset === 0);
  if (isLast) {
    return { rows, total: query.offset + rows.length, isExact: true };
  }
  const count =
    query.knownTotal === undefined
      ? await source.count()
      : { total: query.knownTotal, isExact: true };
  return { ...count, rows };
}

/** A page past the end is empty, however far past it is. */
async function refuseDeepPage<Row>(offset: number, source: PageSource<Row>): Promise<Page<Row>> {
  const count = await source.count();
  if (!count.isExact || count.total > offset) {
    const message = `pages reach the first ${MAX_OFFSET} records; narrow the query, or ask for what follows the last record seen`;
    throw illegalArgument([{ property: 'pageIndex', message }]);
  }
  return { ...count, rows: [] };
}

/** Nothing is left out silently: more than one reply may hold is refused. */
async function readEverything<Row>(source: PageSource<Row>): Promise<Page<Row>> {
  const rows = await source.rows(MAX_PAGE_SIZE + 1, 0);
  if (rows.length > MAX_PAGE_SIZE) {
    const message = `there are more than ${MAX_PAGE_SIZE} records: read them by pages`;
    throw illegalArgument([{ property: 'paging', message }]);
  }
  return { rows, total: rows.length, isExact: true };
}
