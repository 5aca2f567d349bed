/**
 * Owns list queries: conditions, sorts, pages and fields.
 *
 *   query-parameters (GET) ─▶ query-body (JSON) ─▶ Query ─┬▶ compile-condition ─▶ SQL with parameters
 *            where-text, terms ─▶ comparison ─▶ Condition ┘   read-page: rows and total, within bounds
 *
 * Every form of a condition becomes the same syntax tree, with known columns and checked values. An
 * error names its position. SQL never contains text from a request. Tables and organizations are
 * not here.
 */
import type { Condition } from './condition.ts';

/** Text sorts by byte. Integers are counts or epoch milliseconds. */
export type QueryColumn =
  | { readonly kind: 'text' }
  | { readonly kind: 'integer' }
  | { readonly kind: 'enum'; readonly values: readonly string[] };

/** What a query of a resource can name. */
export interface QuerySubject {
  /** For terms and sorts. */
  readonly columns: Readonly<Record<string, QueryColumn>>;
  /** For includes and excludes. */
  readonly fields: readonly string[];
}

export interface Sort {
  readonly column: string;
  readonly descending: boolean;
}

export interface Query {
  /** As requested: counted from 0, or from `firstPageIndex`. */
  readonly pageIndex: number;
  readonly pageSize: number;
  /** The number of records before the page. */
  readonly offset: number;
  /** False: all records in one reply. */
  readonly paging: boolean;
  /** The total of an earlier page, so that the records need not be counted again. */
  readonly knownTotal: number | undefined;
  readonly condition: Condition | undefined;
  readonly sorts: readonly Sort[];
  /** Undefined: all fields. */
  readonly fields: ReadonlySet<string> | undefined;
}

export const MAXIMUM_PAGE_SIZE = 1000;
