import { z } from 'zod';

/** How a term compares a column with a value. */
export const termTypes = [
  'eq',
  'not',
  'gt',
  'gte',
  'lt',
  'lte',
  'like',
  'nlike',
  'in',
  'nin',
  'btw',
  'nbtw',
  'empty',
  'nempty',
  'isnull',
  'notnull',
] as const;

const termTypeList = termTypes.map((name) => `\`${name}\``).join(', ');

const optionalCount = z.union([z.int().min(0), z.string().regex(/^\d{1,16}$/)]).nullish();
const optionalText = z.string().nullish();
const optionalFieldNames = z.union([z.string(), z.array(z.string())]).nullish();

export const queryTerm = z.looseObject({
  column: optionalText.describe('A column. `$` and a term type may follow: `createTime$btw`.'),
  termType: optionalText.describe(`How to compare: ${termTypeList}. Default: \`eq\`.`),
  value: z.unknown().optional().describe('The value to compare with. `in` also accepts an array.'),
  type: optionalText.describe('`and` or `or`: connects the term to the previous one.'),
  get terms() {
    return z.array(queryTerm).nullish().describe('Terms in parentheses.');
  },
});
z.globalRegistry.add(queryTerm, { id: 'QueryTerm' });

export const querySort = z
  .looseObject({
    name: z.string().describe('A column.'),
    order: optionalText.describe('`asc` (the default) or `desc`.'),
  })
  .meta({ id: 'QuerySort' });

/**
 * The shape of a list query. The query grammar of the device service also checks its meaning, for
 * example whether a column exists.
 */
export const queryRequest = z
  .looseObject({
    firstPageIndex: optionalCount.describe('Number of the first page. Default: 0.'),
    pageIndex: optionalCount.describe('Number of the page. Default: the first one.'),
    pageSize: optionalCount.describe('Default: 25. More than 1000 means 1000.'),
    total: optionalCount.describe(
      'The total of an earlier page. Gatehouse then does not count again.',
    ),
    paging: z
      .boolean()
      .nullish()
      .describe('`false` returns everything, or 400 for more than 1000.'),
    where: optionalText.describe(
      'The filter: `state = online and name like %pump%`. A GET also accepts `terms[0].column`, `terms[0].termType` and `terms[0].value`.',
    ),
    orderBy: optionalText.describe('The order: `state desc,name`. Default: the newest first.'),
    terms: z.array(queryTerm).nullish().describe('The filter. With `where`, both must match.'),
    sorts: z.array(querySort).nullish().describe('The order. Default: the newest first.'),
    includes: optionalFieldNames.describe('Columns to return: `id,name`. Default: all.'),
    excludes: optionalFieldNames.describe('Columns to omit: `id,name`.'),
  })
  .meta({ id: 'Query' });

/** A query can select fields, so every member of an item is optional. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    pageIndex: z.int(),
    pageSize: z.int(),
    total: z.int(),
    totalIsExact: z
      .literal(false)
      .optional()
      .describe('Present if counting stopped early: there are at least `total` records.'),
    data: z.array(item),
  });
}

export const examplePage = (item: object) => ({
  pageIndex: 0,
  pageSize: 10,
  total: 1,
  data: [item],
});
