/**
 * Owns list queries: conditions, sorts, pages and fields.
 *
 *   query (GET or JSON) ─┬▶ condition (terms)  ─▶ Query ─▶ pages: SQL with parameters, rows and
 *                        └▶ where (text)                   total, within bounds
 *
 * Every form of a condition becomes the same syntax tree, with known columns and checked values. An
 * error names its position. SQL never contains text from a request. Tables and organizations are
 * not here.
 */
import type { Labels } from '@gatehouse/device-api';
import { type Expression, sql } from 'kysely';
import { z } from 'zod';
import { parsePayload } from '../input.ts';
import { assertBounded, type Condition, combine, queryError, readTerms } from './condition.ts';
import { parseWhere } from './where.ts';

/**
 * A column that a query can name. Text sorts by byte. Integers are counts or epoch milliseconds. No
 * column is null.
 *
 * @param source a reference such as `devices.name`, or an expression
 * @param labels the values of an enumeration, with their texts
 */
export function column(
  kind: 'text' | 'integer' | 'enum',
  source: string | Expression<unknown>,
  labels?: Labels,
) {
  return { kind, labels, sql: typeof source === 'string' ? sql.ref(source) : source };
}

export type QueryColumn = ReturnType<typeof column>;

/** What terms, sorts, includes and excludes can name. */
export type QueryColumns = Readonly<Record<string, QueryColumn>>;

/** A total order, so that pages neither repeat nor miss records. */
interface Ordering {
  /** Without sorts, by this column, the newest first. */
  readonly newestBy: string;
  /** The direction of the id relative to the last column, as in the indexes. */
  readonly tieBreak: 'same' | 'opposite';
}

/** What a query of a resource can name, with the schema of its JSON form. */
export type QuerySubject = ReturnType<typeof querySubject>;

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
const DEFAULT_PAGE_SIZE = 25;
const MAXIMUM_SORTS = 8;

export function querySubject(columns: QueryColumns, ordering: Ordering) {
  const names = Object.keys(columns);
  const known = `must be one of ${names.toSorted().join(', ')}`;
  const fields = z.preprocess(
    (value) => (typeof value === 'string' ? splitNames(value) : value),
    z.array(z.enum(names, known), 'must be an array of field names'),
  );
  const sort = z.object(
    { name: z.enum(names, known), order: direction.nullish() },
    'must be an object',
  );
  return {
    columns,
    ordering,
    schema: z.object(
      {
        firstPageIndex: integer(0).nullish(),
        pageIndex: integer(0).nullish(),
        pageSize: integer(1).nullish(),
        total: integer(0).nullish(),
        paging: z.boolean('must be true or false').nullish(),
        terms: z.unknown().optional(),
        where: z.unknown().optional(),
        // The numbering of the GET form can have gaps.
        sorts: z.array(sort.optional(), 'must be an array').nullish(),
        orderBy: z.string('must be a string').nullish(),
        includes: fields.nullish(),
        excludes: fields.nullish(),
      },
      'must be a JSON object',
    ),
  };
}

const direction = z.preprocess(
  (value) => (typeof value === 'string' ? value.toLowerCase() : value),
  z.enum(['asc', 'desc'], 'must be asc or desc'),
);

/** Only decimal digits, because readers disagree about `1e3`, `0x10` and ` 5`. */
function integer(minimum: number) {
  const rule = `must be an integer, ${minimum} or more`;
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value),
    z.int(rule).min(minimum, rule),
  );
}

function splitNames(text: string): readonly string[] {
  return text === '' ? [] : text.split(',').map((name) => name.trim());
}

/**
 * Reads a query in its JSON form or its GET form. Ignores unknown members and rejects invalid ones.
 *
 * @throws ApiError `illegal_argument` that names the invalid member
 */
export function parseQuery(input: unknown, { columns, schema }: QuerySubject): Query {
  const written = parsePayload(
    schema,
    input instanceof URLSearchParams ? readQueryParameters(input) : input,
  );
  const firstPageIndex = written.firstPageIndex ?? 0;
  const pageIndex = written.pageIndex ?? firstPageIndex;
  if (pageIndex < firstPageIndex) {
    throw queryError('pageIndex', `must be an integer, ${firstPageIndex} or more`);
  }
  const pageSize = Math.min(written.pageSize ?? DEFAULT_PAGE_SIZE, MAXIMUM_PAGE_SIZE);
  const paging = written.paging ?? true;
  return {
    pageIndex,
    pageSize,
    offset: paging ? (pageIndex - firstPageIndex) * pageSize : 0,
    paging,
    knownTotal: written.total ?? undefined,
    condition: readCondition(written, columns),
    sorts: readSorts(written, columns),
    fields: selectFields(columns, written.includes ?? [], written.excludes ?? []),
  };
}

type Written = z.infer<QuerySubject['schema']>;

/** If both are present, `terms` and `where` must both match. */
function readCondition({ terms, where }: Written, columns: QueryColumns) {
  const ofTerms = combine(readTerms(terms, columns));
  const ofWhere = (where ?? undefined) === undefined ? undefined : parseWhere(where, columns);
  const condition: Condition | undefined =
    ofTerms && ofWhere ? { kind: 'all', of: [ofTerms, ofWhere] } : (ofTerms ?? ofWhere);
  if (condition !== undefined) {
    assertBounded(condition, ofTerms === undefined ? 'where' : 'terms');
  }
  return condition;
}

/** If both are present, `orderBy` comes second. */
function readSorts({ sorts, orderBy }: Written, columns: QueryColumns): readonly Sort[] {
  const all = [
    ...(sorts ?? []).flatMap((sort) =>
      sort === undefined ? [] : [{ column: sort.name, descending: sort.order === 'desc' }],
    ),
    ...(orderBy ? readOrderBy(orderBy, columns) : []),
  ];
  if (all.length > MAXIMUM_SORTS) {
    throw queryError(orderBy ? 'orderBy' : 'sorts', `has more than ${MAXIMUM_SORTS} columns`);
  }
  return all;
}

/** `a asc,b desc` */
function readOrderBy(orderBy: string, columns: QueryColumns): readonly Sort[] {
  let position = 1;
  return orderBy.split(',').map((part) => {
    const at = position + part.length - part.trimStart().length;
    position += part.length + 1;
    const [column = '', order = 'asc', ...rest] = part.trim().split(/\s+/);
    const parsed = direction.safeParse(order);
    if (!Object.hasOwn(columns, column) || !parsed.success || rest.length > 0) {
      const known = Object.keys(columns).toSorted().join(', ');
      const rule = `expected a column and asc or desc. The column must be one of ${known}`;
      throw queryError('orderBy', `at character ${at}: ${rule}`);
    }
    return { column, descending: parsed.data === 'desc' };
  });
}

function selectFields(
  columns: QueryColumns,
  includes: readonly string[],
  excludes: readonly string[],
): ReadonlySet<string> | undefined {
  if (includes.length === 0 && excludes.length === 0) {
    return undefined;
  }
  const selected = includes.length === 0 ? Object.keys(columns) : includes;
  return new Set(selected.filter((name) => !excludes.includes(name)));
}

const PLAIN = /^(?:firstPageIndex|pageIndex|pageSize|total|where|orderBy|includes|excludes)$/;
const INDEXED = /^(?:terms|sorts)\[/;
const INDEXED_PATH =
  /^(?:terms(?:\[\d{1,3}\]\.terms)*\[\d{1,3}\]\.(?:column|termType|value|type)|sorts\[\d{1,3}\]\.(?:name|order))$/;

type Item = Record<string, unknown>;

/**
 * Converts the GET form, `pageIndex=0&terms[0].column=state&terms[0].value=online`, to the JSON form,
 * so that both have the same meaning. Keeps gaps in the numbering, so that an error names the number
 * that the client sent.
 *
 * @throws ApiError `illegal_argument`, also for a misspelled `terms[…` or `sorts[…`, because ignoring
 * it would return more records
 */
function readQueryParameters(parameters: URLSearchParams): object {
  const query: Item = {};
  for (const property of new Set(parameters.keys())) {
    if (PLAIN.test(property)) {
      query[property] = theOnly(parameters, property);
    } else if (INDEXED.test(property)) {
      place(query, property, theOnly(parameters, property));
    }
  }
  return query;
}

function theOnly(parameters: URLSearchParams, property: string): string {
  const [value = '', ...further] = parameters.getAll(property);
  if (further.length > 0) {
    throw queryError(property, 'must be given once');
  }
  return value;
}

function place(query: Item, property: string, value: string): void {
  if (!INDEXED_PATH.test(property)) {
    const rule = 'must be terms[n].column, .termType, .value or .type, or sorts[n].name or .order';
    throw queryError(property, rule);
  }
  let item = query;
  for (const [, name = '', index = ''] of property.matchAll(/(\w+)\[(\d+)\]/g)) {
    const list = (item[name] ?? []) as Item[];
    item[name] = list;
    item = list[Number(index)] ??= {};
  }
  item[property.slice(property.lastIndexOf('.') + 1)] = value;
}
