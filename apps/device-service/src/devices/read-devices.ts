import { sql } from 'kysely';
import { fixedQuery, type ValueOf } from '../database/fixed-query.ts';
import { type OrganizationDatabase, organizationOf } from '../database/organization-scope.ts';
import { compileCondition } from '../query-grammar/compile-condition.ts';
import { type Condition, comparisonsOf } from '../query-grammar/condition.ts';
import { orderings } from '../query-grammar/orderings.ts';
import type { Query } from '../query-grammar/query.ts';
import { COUNT_LIMIT, type Page, readPage } from '../query-grammar/read-page.ts';
import type { DatabaseEngine } from '../tables/tables.ts';
import type { DeviceSummary } from './device.ts';
import { deviceColumns, deviceOrdering, productColumns } from './device-columns.ts';
import { counterSelection, readCounters } from './device-counters.ts';
import { productSummaryColumns, summaryColumns, toSummary } from './device-rows.ts';

export async function readDevicePage(
  database: OrganizationDatabase,
  query: Query,
  engine: DatabaseEngine,
): Promise<Page<DeviceSummary>> {
  return readPage(query, {
    rows: (limit, offset) => readRows(database, query, engine, { limit, offset }),
    count: async () => {
      const selection = counterSelection(query.condition);
      if (selection !== undefined) {
        return { total: await readCounters(database, selection), isExact: true };
      }
      const counted = await countUpTo(COUNT_LIMIT + 1, database, query.condition, engine);
      return { total: Math.min(counted, COUNT_LIMIT), isExact: counted <= COUNT_LIMIT };
    },
  });
}

export async function countDevices(
  database: OrganizationDatabase,
  condition: Condition | undefined,
  engine: DatabaseEngine,
): Promise<number> {
  const selection = counterSelection(condition);
  return selection === undefined
    ? countUpTo(Number.MAX_SAFE_INTEGER, database, condition, engine)
    : readCounters(database, selection);
}

interface Window {
  readonly limit: number;
  readonly offset: number;
}

const plainRows = fixedQuery((database, value: ValueOf<Window>) =>
  // Without a condition, the engine makes no difference.
  selectPage(database, { condition: undefined, sorts: [] }, 'sqlite', {
    limit: value('limit'),
    offset: value('offset'),
  }),
);

async function readRows(
  database: OrganizationDatabase,
  query: Query,
  engine: DatabaseEngine,
  window: Window,
): Promise<readonly DeviceSummary[]> {
  const isPlain = query.condition === undefined && query.sorts.length === 0;
  const rows = isPlain
    ? await plainRows(database, window)
    : await selectPage(database, query, engine, window).execute();
  const organizationId = organizationOf(database);
  return rows.map((row) => toSummary(row, organizationId));
}

/** Selects the page before it joins the products, so that skipped rows cost no join. */
function selectPage(
  database: OrganizationDatabase,
  { condition, sorts }: Pick<Query, 'condition' | 'sorts'>,
  engine: DatabaseEngine,
  { limit, offset }: Window,
) {
  const order = orderings(sorts, deviceColumns, deviceOrdering);
  const sortColumns = sorts.map(({ column }) => column);
  let page = selectDevices(database, condition, engine, sortColumns)
    // The outer query sorts by org_id too, so the page needs it.
    .select([...summaryColumns, 'devices.org_id', 'devices.protocol', 'devices.transport'])
    .limit(limit)
    .offset(offset);
  for (const column of order) {
    page = page.orderBy(column);
  }
  let rows = database
    .selectFrom(page.as('devices'))
    .innerJoin('products', 'products.id', 'devices.product_id')
    .select(summaryColumns)
    .select(productSummaryColumns);
  for (const column of order) {
    rows = rows.orderBy(column);
  }
  return rows;
}

function selectDevices(
  database: OrganizationDatabase,
  condition: Condition | undefined,
  engine: DatabaseEngine,
  sortColumns: readonly string[] = [],
) {
  const named = condition === undefined ? [] : comparisonsOf(condition).map(({ column }) => column);
  const needsProducts = [...named, ...sortColumns].some((column) => productColumns.has(column));
  const devices = database.selectFrom('devices');
  const source = needsProducts
    ? (devices.innerJoin(
        'products',
        'products.id',
        'devices.product_id',
      ) as unknown as typeof devices)
    : devices;
  return condition === undefined
    ? source
    : source.where(compileCondition(condition, deviceColumns, engine));
}

async function countUpTo(
  limit: number,
  database: OrganizationDatabase,
  condition: Condition | undefined,
  engine: DatabaseEngine,
): Promise<number> {
  const found = selectDevices(database, condition, engine)
    .select(sql.lit(1).as('found'))
    .limit(limit)
    .as('found');
  const { total } = await database
    .selectFrom(found)
    .select((expression) => expression.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return total;
}
