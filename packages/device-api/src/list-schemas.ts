import { z } from 'zod';

const optionalCount = z.union([z.int().min(0), z.string().regex(/^\d{1,16}$/)]).nullish();
const optionalText = z.string().nullish();
const optionalFieldNames = z.union([z.string(), z.array(z.string())]).nullish();

const term = z.looseObject({
  column: optionalText,
  termType: optionalText,
  value: z.unknown().optional(),
  type: optionalText,
  get terms() {
    return z.array(term).nullish();
  },
});

/**
 * The shape of a list query. The query grammar of the device service also checks its meaning, for
 * example whether a column exists.
 */
export const queryRequest = z.looseObject({
  firstPageIndex: optionalCount,
  pageIndex: optionalCount,
  pageSize: optionalCount,
  total: optionalCount,
  paging: z.boolean().nullish(),
  where: optionalText,
  orderBy: optionalText,
  terms: z.array(term).nullish(),
  sorts: z.array(z.looseObject({ name: z.string(), order: optionalText })).nullish(),
  includes: optionalFieldNames,
  excludes: optionalFieldNames,
});

/** A query can select fields, so every member of an item may be absent. */
export function listOf<Shape extends z.ZodRawShape>(item: z.ZodObject<Shape, z.core.$strict>) {
  return z.array(item.partial());
}

export function pageOf<Shape extends z.ZodRawShape>(item: z.ZodObject<Shape, z.core.$strict>) {
  return z.strictObject({
    pageIndex: z.int(),
    pageSize: z.int(),
    total: z.int(),
    /** Present if counting stopped early: there are at least `total` records. */
    totalIsExact: z.literal(false).optional(),
    data: listOf(item),
  });
}
