import type { Query } from './query.ts';
import type { Page } from './read-page.ts';

/**
 * A page in the form of operation 6. `totalIsExact: false` means that counting stopped early: there
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

/** Only the items, for operations 1 and 2, which return an array. */
export function describeItems<Row, Item extends object>(
  page: Page<Row>,
  { fields }: Query,
  describe: (row: Row) => Item,
): readonly Partial<Item>[] {
  const items = page.rows.map(describe);
  return fields === undefined ? items : items.map((item) => pick(item, fields));
}

/** The count, for operations that return an array. */
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
