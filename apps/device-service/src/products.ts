/**
 * Owns products, which many devices share. The first device of a product creates it. A device
 * inherits the members that it does not set.
 *
 *   handlers ─▶ SQL
 *
 * devices/add.ts creates products, in the step that adds the device.
 */
import { type DeviceType, deviceTypes, productChangesRequest } from '@gatehouse/device-api';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { OrganizationDatabase } from './database/organization-database.ts';
import { inTransaction } from './database/queries.ts';
import type { ProductTable } from './database/tables.ts';
import {
  type ApiRequest,
  type Handler,
  labelerOf,
  readJsonBody,
  readQuery,
} from './http/handler.ts';

import { assertFound, parsePayload } from './input.ts';
import { deviceTypeLabels } from './labels.ts';
import {
  compileCondition,
  countQuery,
  describePage,
  orderOf,
  type Page,
  readPage,
  toCount,
} from './query/pages.ts';
import {
  enumColumn,
  integerColumn,
  parseQuery,
  type Query,
  querySubject,
  textColumn,
} from './query/query.ts';

export const productHandlers = {
  'product.query': async (request: ApiRequest) => {
    const query = parseQuery(await readQuery(request), productSubject);
    const page = await readProducts(request.database, query);
    return { result: describePage(page, query, (row) => describeProduct(row, request)) };
  },
  'product.detail': answer(({ database }, id) => findProduct(database, id)),
  'product.update': answer(async ({ database, message }, id) => {
    const changes = parsePayload(productChangesRequest, await readJsonBody(message));
    return changeProduct(database, id, changes);
  }),
};

/** Runs an operation on a product and returns the resulting product. */
function answer(
  operation: (request: ApiRequest, id: string) => Promise<ProductRow | undefined>,
): Handler {
  return async (request) => {
    const row = assertFound(await operation(request, request.path.productId));
    return { result: { ...describeProduct(row, request), metadata: row.metadata } };
  };
}

function describeProduct(row: Omit<ProductRow, 'metadata'>, request: ApiRequest) {
  return {
    id: row.id,
    name: row.name,
    orgId: row.org_id,
    deviceType: labelerOf(request)(deviceTypeLabels, row.device_type as DeviceType),
    protocol: row.protocol,
    transport: row.transport,
    createTime: row.create_time,
  };
}

type ProductRow = Selectable<ProductTable>;

/** The initial values of a product. */
export const NEW_PRODUCT = {
  device_type: 'device',
  protocol: '',
  transport: '',
  metadata: '{"events":[],"properties":[],"functions":[],"tags":[]}',
} as const;

/** What a query of products can name. */
export const productSubject = querySubject(
  {
    id: textColumn('products.id'),
    name: textColumn('products.name'),
    orgId: textColumn('products.org_id'),
    deviceType: enumColumn('products.device_type', deviceTypes),
    protocol: textColumn('products.protocol'),
    transport: textColumn('products.transport'),
    createTime: integerColumn('products.create_time'),
  },
  { newestBy: 'createTime', tieBreak: 'opposite' },
);

function findProduct(
  { tables }: OrganizationDatabase,
  id: string,
): Promise<ProductRow | undefined> {
  return tables.selectFrom('products').selectAll().where('id', '=', id).executeTakeFirst();
}

/**
 * Absent members do not change. Also changes the devices that inherit the members. Undefined: the
 * product does not exist.
 */
function changeProduct(
  database: OrganizationDatabase,
  id: string,
  { deviceType, ...others }: z.infer<typeof productChangesRequest>,
): Promise<ProductRow | undefined> {
  const changes = { ...others, ...(deviceType && { device_type: deviceType }) };
  return inTransaction(database, async (transaction) => {
    if (Object.keys(changes).length > 0) {
      await transaction.tables.updateTable('products').set(changes).where('id', '=', id).execute();
    }
    return findProduct(transaction, id);
  });
}

/** Newest first, then by id, unless the query has sorts. */
async function readProducts(
  database: OrganizationDatabase,
  query: Query,
): Promise<Page<Omit<ProductRow, 'metadata'>>> {
  const { condition, sorts } = query;
  const products = database.tables
    .selectFrom('products')
    .where(compileCondition(condition, productSubject.columns, database.engine));
  return readPage(query, {
    rows: ({ limit, offset }) =>
      products
        .select(['org_id', 'id', 'name', 'device_type', 'protocol', 'transport', 'create_time'])
        .orderBy(orderOf(sorts, productSubject))
        .limit(limit)
        .offset(offset)
        .execute(),
    count: async () => toCount(await countQuery(database, products).execute()),
  });
}
