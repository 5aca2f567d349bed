import { illegalArgument } from '@gatehouse/errors';
import type { Query, QuerySubject } from './query.ts';
import { parseQueryBody } from './query-body.ts';

const plainParameters = [
  'firstPageIndex',
  'pageIndex',
  'pageSize',
  'total',
  'where',
  'orderBy',
  'includes',
  'excludes',
] as const;

const INDEXED = /^(terms|sorts)\[/;
const INDEXED_PATH = /^(?:terms(?:\[\d{1,3}\]\.terms)*|sorts)\[\d{1,3}\]\.(?<member>\w+)$/;
const MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  terms: new Set(['column', 'termType', 'value', 'type']),
  sorts: new Set(['name', 'order']),
};

interface Items {
  [index: number]: Record<string, unknown>;
}

/**
 * Reads a query in its GET form: `pageIndex=0&terms[0].column=state&terms[0].value=online`.
 * Converts it to the JSON form, so that both have the same meaning.
 *
 * @throws ApiError `illegal_argument`, also for a misspelled `terms[…` or `sorts[…`, because
 * ignoring it would
 *   return more records
 */
export function parseQueryParameters(parameters: URLSearchParams, subject: QuerySubject): Query {
  const body: Record<string, unknown> = {};
  for (const property of plainParameters) {
    if (parameters.has(property)) {
      body[property] = theOnly(parameters, property);
    }
  }
  for (const fields of ['includes', 'excludes']) {
    if (body[fields] === '') {
      delete body[fields];
    }
  }
  const indexed: { terms?: Items; sorts?: Items } = {};
  for (const property of new Set(parameters.keys())) {
    const [, root] = INDEXED.exec(property) ?? [];
    if (root === 'terms' || root === 'sorts') {
      place(indexed, property, root, theOnly(parameters, property));
    }
  }
  return parseQueryBody({ ...body, ...toArrays(indexed) }, subject);
}

function theOnly(parameters: URLSearchParams, property: string): string {
  const [value = '', ...further] = parameters.getAll(property);
  if (further.length > 0) {
    throw illegalArgument([{ property, message: 'must be given once' }]);
  }
  return value;
}

function place(
  into: { terms?: Items; sorts?: Items },
  property: string,
  root: string,
  value: string,
) {
  const member = INDEXED_PATH.exec(property)?.groups?.member;
  if (member === undefined || MEMBERS[root]?.has(member) !== true) {
    const message =
      'must be terms[n].column, .termType, .value or .type, or sorts[n].name or .order';
    throw illegalArgument([{ property, message }]);
  }
  let items = into as Record<string, unknown>;
  for (const [, name = '', index = ''] of property.matchAll(/(\w+)\[(\d+)\]/g)) {
    items = itemAt(listIn(items, name), Number(index));
  }
  items[member] = value;
}

function listIn(item: Record<string, unknown>, name: string): Items {
  const list = (item[name] ?? {}) as Items;
  item[name] = list;
  return list;
}

function itemAt(list: Items, index: number): Record<string, unknown> {
  const item = list[index] ?? {};
  list[index] = item;
  return item;
}

/** Keeps gaps in the numbering, so that an error names the number that the client sent. */
function toArrays(indexed: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(indexed).map(([name, value]) => [name, isItems(name) ? toArray(value) : value]),
  );
}

function isItems(name: string): boolean {
  return name === 'terms' || name === 'sorts';
}

function toArray(items: unknown): readonly unknown[] {
  const array: unknown[] = [];
  for (const [index, item] of Object.entries(items as Items)) {
    array[Number(index)] = toArrays(item);
  }
  return array;
}
