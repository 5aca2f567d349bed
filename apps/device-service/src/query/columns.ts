import { type Expression, sql } from 'kysely';

/** Text sorts by byte. Integers are counts or epoch milliseconds. No column is null. */
export type QueryColumn = (
  | { readonly kind: 'text' }
  | { readonly kind: 'integer' }
  | { readonly kind: 'enum'; readonly values: readonly string[] }
) & { readonly sql: Expression<unknown> };

/** What terms, sorts, includes and excludes can name. */
export type QueryColumns = Readonly<Record<string, QueryColumn>>;

/** A total order, so that pages neither repeat nor miss records. */
export interface Ordering {
  /** Without sorts, by this column, the newest first. */
  readonly newestBy: string;
  /** The direction of the id relative to the last column, as in the indexes. */
  readonly tieBreak: 'same' | 'opposite';
}

/** A column with its SQL: a reference such as `devices.name`, or an expression. */
export const textColumn = (source: string | Expression<unknown>): QueryColumn => ({
  kind: 'text',
  sql: typeof source === 'string' ? sql.ref(source) : source,
});

export const integerColumn = (reference: string): QueryColumn => ({
  kind: 'integer',
  sql: sql.ref(reference),
});

export const enumColumn = (reference: string, values: readonly string[]): QueryColumn => ({
  kind: 'enum',
  values,
  sql: sql.ref(reference),
});
