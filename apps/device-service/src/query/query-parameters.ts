import { queryError } from './condition.ts';

const plainParameters: ReadonlySet<string> = new Set([
  'firstPageIndex',
  'pageIndex',
  'pageSize',
  'total',
  'where',
  'orderBy',
  'includes',
  'excludes',
]);

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
export function readQueryParameters(parameters: URLSearchParams): object {
  const query: Item = {};
  for (const property of new Set(parameters.keys())) {
    if (plainParameters.has(property)) {
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
