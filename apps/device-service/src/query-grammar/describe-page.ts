import type { Query } from './query.ts';
import type { Page } from './read-page.ts';

/**
 * A page as operation 6 answers it. `totalIsExact: false` is there where counting stopped early: then there
 * are at least `total` records.
 */
export function describePage<Row, Item extends object>(
  page: Page<Row>,
  query: Query,
  describe: (row: Row) => Item,
) {
  return {
    pageIndex: query.pageIndex,
    pageSize: query.paging ? query.pageSize : page.rows.length,
    total: page.total,
    ...(page.isExact ? {} : { totalIsExact: false }),
    data: describeItems(page, query, describe),
  };
}

/** The items alone, for operations 1 and 2, which answer an array. */
export function describeItems<Row, Item extends object>(
  page: Page<Row>,
  { fields }: Query,
  describe: (row: Row) => Item,
): readonly Partial<Item>[] {
  const items = page.rows.map(describe);
  return fields === undefined ? items : items.map((item) => pick(item, fields));
}

/** The count beside such an array. */
export function countHeaders(page: Page<unknown>): Readonly<Record<string, string>> {
  return {
    'X-Total-Count': String(page.total),
    ...(page.isExact ? {} : { 'X-Total-Count-Exact': 'false' }),
  };
}

function pick<Item extends object>(item: Item, fields: ReadonlySet<string>): Partial<Item> {
  return Object.fromEntries(
    Object.entries(item).filter(([name]) => fields.has(name)),
  ) as Partial<Item>;
}
