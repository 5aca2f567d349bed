import type { DeviceType } from '@gatehouse/device-api';
import { type Selectable, sql } from 'kysely';
import { inTransaction } from '../database/in-transaction.ts';
import type { OrganizationDatabase } from '../database/organization-scope.ts';
import { type ColumnExpressions, compileCondition } from '../query-grammar/compile-condition.ts';
import { type Ordering, orderings } from '../query-grammar/orderings.ts';
import type { Query } from '../query-grammar/query.ts';
import { COUNT_LIMIT, type Page, readPage } from '../query-grammar/read-page.ts';
import type { DatabaseEngine, ProductTable } from '../tables/tables.ts';
import type { Product, ProductChanges, ProductSummary, Products } from './product.ts';
import type { productQueryColumns } from './product-subject.ts';

const ordering: Ordering = {
  defaultSorts: [{ column: 'createTime', descending: true }],
  tieBreak: 'opposite',
};

const expressions: ColumnExpressions = {
  id: sql.ref('products.id'),
  name: sql.ref('products.name'),
  orgId: sql.ref('products.org_id'),
  deviceType: sql.ref('products.device_type'),
  protocol: sql.ref('products.protocol'),
  transport: sql.ref('products.transport'),
  createTime: sql.ref('products.create_time'),
} satisfies Record<keyof typeof productQueryColumns, unknown>;

export function createSqlProducts(
  database: OrganizationDatabase,
  engine: DatabaseEngine,
): Products {
  return {
    find: (id) => findProduct(database, id),
    page: (query) => readProductPage(database, query, engine),
    update: (id, changes) =>
      inTransaction(database, (transaction) => updateProduct(transaction, id, changes)),
  };
}

async function findProduct(
  database: OrganizationDatabase,
  id: string,
): Promise<Product | undefined> {
  const row = await database
    .selectFrom('products')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();
  return row === undefined ? undefined : { ...toSummary(row), metadata: row.metadata };
}

async function updateProduct(
  transaction: OrganizationDatabase,
  id: string,
  { deviceType, ...others }: ProductChanges,
): Promise<Product | undefined> {
  const changes = { ...others, ...(deviceType === undefined ? {} : { device_type: deviceType }) };
  if (Object.keys(changes).length > 0) {
    await transaction.updateTable('products').set(changes).where('id', '=', id).execute();
  }
  return findProduct(transaction, id);
}

async function readProductPage(
  database: OrganizationDatabase,
  { condition, ...query }: Query,
  engine: DatabaseEngine,
): Promise<Page<ProductSummary>> {
  const products = database
    .selectFrom('products')
    .$if(condition !== undefined, (select) =>
      condition === undefined
        ? select
        : select.where(compileCondition(condition, expressions, engine)),
    );
  return readPage(
    { ...query, condition },
    {
      rows: async (limit, offset) => {
        let rows = products
          .select(['org_id', 'id', 'name', 'device_type', 'protocol', 'transport', 'create_time'])
          .limit(limit)
          .offset(offset);
        for (const column of orderings(query.sorts, expressions, ordering)) {
          rows = rows.orderBy(column);
        }
        return (await rows.execute()).map(toSummary);
      },
      count: async () => {
        const found = products
          .select('id')
          .limit(COUNT_LIMIT + 1)
          .as('found');
        const { total } = await database
          .selectFrom(found)
          .select((expression) => expression.fn.countAll<number>().as('total'))
          .executeTakeFirstOrThrow();
        return { total: Math.min(total, COUNT_LIMIT), isExact: total <= COUNT_LIMIT };
      },
    },
  );
}

function toSummary(row: Omit<Selectable<ProductTable>, 'metadata'>): ProductSummary {
  return {
    id: row.id,
    name: row.name,
    orgId: row.org_id,
    deviceType: row.device_type as DeviceType,
    protocol: row.protocol,
    transport: row.transport,
    createTime: row.create_time,
  };
}
