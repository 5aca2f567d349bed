/**
 * Owns products, which many devices share. The first device of a product creates it. A device
 * inherits the members that it does not set.
 *
 *   handlers ─▶ SQL
 *
 * devices/add.ts creates products, in the step that adds the device.
 */
import { deviceTypeLabels, productChangesRequest } from '@gatehouse/device-api';
import type { z } from 'zod';
import type { OrganizationDatabase } from './database/organization-database.ts';
import { inTransaction } from './database/queries.ts';
import {
  type ApiRequest,
  type Handler,
  labelerOf,
  readJsonBody,
  readQuery,
} from './http/handler.ts';

import { assertFound, parsePayload } from './input.ts';
import {
  compileCondition,
  countUpToLimit,
  orderOf,
  printRows,
  readPage,
  replyWithPage,
} from './query/pages.ts';
import { column, parseQuery, type Query, querySubject } from './query/query.ts';

export const productHandlers = {
  'product.query': async (request: ApiRequest) => {
    const query = parseQuery(await readQuery(request), productSubject);
    const page = await readProducts(request.database, query);
    return replyWithPage(
      printRows(page, query, (row) => describeProduct(row, request)),
      query,
    );
  },
  'product.detail': answer(({ database }, id) => findProduct(database, id)),
  'product.update': answer(async ({ database, message }, id) => {
    const changes = parsePayload(productChangesRequest, await readJsonBody(message));
    return changeProduct(database, id, changes);
  }),
};

/** Runs an operation on a product and returns the resulting product. */
function answer(
  operation: (request: ApiRequest, id: string) => ReturnType<typeof findProduct>,
): Handler {
  return async (request) => {
    const row = assertFound(await operation(request, request.path.productId));
    return { result: describeProduct(row, request) };
  };
}

function describeProduct<Row extends { readonly deviceType: string }>(
  row: Row,
  request: ApiRequest,
) {
  const deviceType = labelerOf(request)(deviceTypeLabels, row.deviceType);
  return { ...row, deviceType };
}

/** The members of a product in a list. */
const summaryColumns = [
  'id',
  'name',
  'org_id as orgId',
  'device_type as deviceType',
  'protocol',
  'transport',
  'create_time as createTime',
] as const;

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
    id: column('text', 'products.id'),
    name: column('text', 'products.name'),
    orgId: column('text', 'products.org_id'),
    deviceType: column('enum', 'products.device_type', deviceTypeLabels),
    protocol: column('text', 'products.protocol'),
    transport: column('text', 'products.transport'),
    createTime: column('integer', 'products.create_time'),
  },
  { newestBy: 'createTime', tieBreak: 'opposite' },
);

function findProduct({ tables }: OrganizationDatabase, id: string) {
  return tables
    .selectFrom('products')
    .select([...summaryColumns, 'metadata'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/**
 * Absent members do not change. Also changes the devices that inherit the members. Undefined: the
 * product does not exist.
 */
function changeProduct(
  database: OrganizationDatabase,
  id: string,
  { deviceType, ...others }: z.infer<typeof productChangesRequest>,
) {
  const changes = { ...others, ...(deviceType && { device_type: deviceType }) };
  return inTransaction(database, async (transaction) => {
    if (Object.keys(changes).length > 0) {
      await transaction.tables.updateTable('products').set(changes).where('id', '=', id).execute();
    }
    return findProduct(transaction, id);
  });
}

/** Newest first, then by id, unless the query has sorts. */
function readProducts(database: OrganizationDatabase, query: Query) {
  const { condition, sorts } = query;
  const products = database.tables
    .selectFrom('products')
    .where(compileCondition(condition, productSubject.columns, database.engine));
  return readPage(query, {
    rows: ({ limit, offset }) =>
      products
        .select(summaryColumns)
        .orderBy(orderOf(sorts, productSubject))
        .limit(limit)
        .offset(offset)
        .execute(),
    count: () => countUpToLimit(database, products),
  });
}
