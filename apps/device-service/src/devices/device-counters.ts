import { fixedQuery } from '../database/fixed-query.ts';
import type { OrganizationDatabase } from '../database/organization-scope.ts';
import { type Condition, comparisonsOf } from '../query-grammar/condition.ts';

/** The maintained counts that add up to the result of a condition. Undefined: no restriction. */
export interface CounterSelection {
  readonly productIds: readonly string[] | undefined;
  readonly states: readonly string[] | undefined;
}

/** Undefined if the condition has other columns, so that the devices have to be counted. */
export function counterSelection(condition: Condition | undefined): CounterSelection | undefined {
  if (condition === undefined) {
    return { productIds: undefined, states: undefined };
  }
  const comparisons = comparisonsOf(condition);
  const isConjunction =
    condition.kind === 'comparison' ||
    (condition.kind === 'all' && condition.of.every(({ kind }) => kind === 'comparison'));
  const columns = comparisons.map(({ column }) => column);
  const isMaintained =
    isConjunction &&
    new Set(columns).size === columns.length &&
    comparisons.every(
      ({ column, operator }) =>
        (column === 'productId' || column === 'state') && (operator === 'eq' || operator === 'in'),
    );
  const valuesOf = (column: string) =>
    comparisons.find((comparison) => comparison.column === column)?.values.map(String);
  return isMaintained
    ? { productIds: valuesOf('productId'), states: valuesOf('state') }
    : undefined;
}

const ALL_PRODUCTS = '';

const allCounters = fixedQuery((database) =>
  database
    .selectFrom('device_counts')
    .select('device_count')
    .where('product_id', '=', ALL_PRODUCTS),
);

/** The cost does not depend on the number of devices. */
export async function readCounters(
  database: OrganizationDatabase,
  { productIds, states }: CounterSelection,
): Promise<number> {
  const rows =
    productIds === undefined && states === undefined
      ? await allCounters(database, {})
      : await database
          .selectFrom('device_counts')
          .select('device_count')
          .where('product_id', 'in', [...new Set(productIds ?? [ALL_PRODUCTS])])
          .$if(states !== undefined, (query) => query.where('state', 'in', [...new Set(states)]))
          .execute();
  return rows.reduce((sum, row) => sum + row.device_count, 0);
}
