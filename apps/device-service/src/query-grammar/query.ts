/**
 * Owns what a caller may ask of a list: which records, in which order, which page, which fields.
 *
 *   query-parameters (GET) ─▶ query-body (JSON) ─▶ Query ─┬▶ compile-condition ─▶ SQL with parameters
 *            where-text, terms ─▶ comparison ─▶ Condition ┘   read-page: rows and total, within bounds
 *
 * Whatever the form, a condition becomes one syntax tree that holds only known columns and checked values;
 * a mistake is refused with its place. No text of a caller ever becomes SQL. Which tables are read, and for
 * whom, is not here.
 */
import type { Condition } from './condition.ts';

/** `enum` names its values; texts sort by byte; integers are counts or epoch milliseconds. */
export type QueryColumn =
  | { readonly kind: 'text' }
  | { readonly kind: 'integer' }
  | { readonly kind: 'enum'; readonly values: readonly string[] };

/** What can be asked of one kind of record. */
export interface QuerySubject {
  /** What terms and sorts may name. */
  readonly columns: Readonly<Record<string, QueryColumn>>;
  /** What includes and excludes may name. */
  readonly fields: readonly string[];
}

export interface Sort {
  readonly column: string;
  readonly descending: boolean;
}

export interface Query {
  /** As asked: counted from 0, or from the caller's `firstPageIndex`. */
  readonly pageIndex: number;
  readonly pageSize: number;
  /** How many records come before the page. */
  readonly offset: number;
  /** False: everything in one reply. */
  readonly paging: boolean;
  /** The caller knows the total from an earlier page and spares the count. */
  readonly knownTotal: number | undefined;
  readonly condition: Condition | undefined;
  readonly sorts: readonly Sort[];
  /** Undefined: all fields. */
  readonly fields: ReadonlySet<string> | undefined;
}

export const MAX_PAGE_SIZE = 1000;
