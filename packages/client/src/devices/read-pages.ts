import type { Query } from './api-types.ts';
import type { Send } from './sender.ts';

export interface Page<Item> {
  readonly pageIndex: number;
  readonly pageSize: number;
  readonly total: number;
  /** Present if counting stopped early: there are at least `total` records. */
  readonly totalIsExact?: false;
  readonly data: readonly Item[];
}

/** Ends after the first page that is not full. The last page can be empty. */
export async function* readPages<Item>(
  send: Send,
  path: string,
  query: Query = {},
): AsyncGenerator<Page<Item>, void> {
  let isLast = false;
  for (let pageIndex = Number(query.pageIndex ?? 0); !isLast; pageIndex += 1) {
    const page = await send<Page<Item>>('POST', path, { ...query, pageIndex });
    const end = (page.pageIndex + 1) * page.pageSize;
    isLast = page.data.length < page.pageSize || (page.totalIsExact !== false && end >= page.total);
    yield page;
  }
}
