import type { OrganizationDatabase } from '../database/organization-scope.ts';
import { type Condition, comparisonsOf } from '../query-grammar/condition.ts';

/** Which kept counts add up to the number of devices that a condition finds. Undefined: every one. */
export interface CounterSelection {
  readonly productIds: readonly string[] | undefined;
  readonly states: readonly string[] | undefined;
}

/** The selection for a condition on product and state only; undefined where devices must be counted. */
export function counterSelection(condition: Condition | undefined): CounterSelection | undefined {
  if (condition === undefined) {
    return { productIds: undefined, states: undefined };
  }
  const comparisons = comparisonsOf(condition);
  const isConjunction =
    condition.kind === 'comparison' ||
    (condition.kind === 'all' && condition.of.every(({ kind }) => kind === 'comparison'));
  const columns = comparisons.map(({ column }) => column);
  const isKept =
    isConjunction &&
    new Set(columns).size === columns.length &&
    comparisons.every(
      ({ column, operator }) =>
        (column === 'productId' || column === 'state') && (operator === 'eq' || operator === 'in'),
    );
  const valuesOf = (column: string) =>
    comparisons.find((comparison) => comparison.column === column)?.values.map(String);
  return isKept ? { productIds: valuesOf('productId'), states: valuesOf('state') } : undefined;
}

/** Costs the same for any number of devices. */
export async function readCounters(
  database: OrganizationDatabase,
  { productIds, states }: CounterSelection,
): Promise<number> {
  const rows = await database
    .selectFrom('device_counts')
    .select('device_count')
    .where('product_id', 'in', [...new Set(productIds ?? [''])])
    .$if(states !== undefined, (query) => query.where('state', 'in', [...new Set(states)]))
    .execute();
  return rows.reduce((sum, row) => sum + row.device_count, 0);
}
