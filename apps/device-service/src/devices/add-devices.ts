import { randomInt } from 'node:crypto';
import { fixedQuery, type ValueOf } from '../database/fixed-query.ts';
import { type OrganizationDatabase, organizationOf } from '../database/organization-scope.ts';
import { NEW_PRODUCT } from '../products/product.ts';
import type { Device, NewDevice } from './device.ts';
import { toSummary } from './device-rows.ts';
import type { AddOutcome } from './devices.ts';

/** With 16 parameters per row, below the limits of SQLite (32,766) and PostgreSQL (65,535). */
const ROWS_PER_STATEMENT = 1000;

const NEVER = 0;
const NEVER_CONNECTED_ADDRESS = '/';
const MAXIMUM_INCARNATION = 2 ** 48 - 1;

/**
 * Inserts devices and their new products, and resolves to the outcome of each device. Rows are
 * sorted by id, so that two batches with common ids cannot deadlock.
 */
export async function addDevices(
  transaction: OrganizationDatabase,
  devices: readonly NewDevice[],
): Promise<readonly AddOutcome[]> {
  const { known, wanted } = await findProducts(transaction, devices);
  const firsts = firstOfEachId(devices.filter(({ productId }) => known.has(productId)));
  const added = await addProducts(transaction, wanted);
  const candidates = [...firsts.values()];
  const created = await insertDevices(transaction, candidates);
  const used = new Set(
    candidates.filter(({ id }) => created.has(id)).map(({ productId }) => productId),
  );
  await removeProducts(
    transaction,
    added.filter((id) => !used.has(id)),
  );
  return devices.map((device) => {
    if (!known.has(device.productId)) {
      return 'unknown_product';
    }
    const isFirst = firsts.get(device.id) === device;
    return isFirst && created.has(device.id) ? 'created' : 'duplicate_key';
  });
}

function firstOfEachId(devices: readonly NewDevice[]): ReadonlyMap<string, NewDevice> {
  const firsts = new Map<string, NewDevice>();
  for (const device of devices) {
    if (!firsts.has(device.id)) {
      firsts.set(device.id, device);
    }
  }
  return firsts;
}

const oneProduct = fixedQuery((database, value: ValueOf<{ id: string }>) =>
  database
    .selectFrom('products')
    .select(['id', 'name as product_name', 'device_type', 'protocol', 'transport', 'metadata'])
    .where('id', '=', value('id')),
);

/** Undefined if the product does not exist yet. The only change is the insertion. */
export async function addToKnownProduct(
  database: OrganizationDatabase,
  device: NewDevice,
): Promise<Device | 'duplicate_key' | undefined> {
  const [product] = await oneProduct(database, { id: device.productId });
  if (product === undefined) {
    return undefined;
  }
  const row = toRow(device);
  const inserted = await oneInsertion(database, row);
  if (inserted.length === 0) {
    return 'duplicate_key';
  }
  const { product_name, device_type } = product;
  const protocol = row.protocol ?? product.protocol;
  const transport = row.transport ?? product.transport;
  const shown = { ...row, product_name, device_type, protocol, transport };
  return {
    ...toSummary(shown, organizationOf(database)),
    metadata: row.metadata ?? product.metadata,
    configuration: device.configuration,
    tags: [],
  };
}

/** Finds existing products. The first device that names a missing product defines it. */
async function findProducts(transaction: OrganizationDatabase, devices: readonly NewDevice[]) {
  const known = new Set<string>();
  const mentioned = [...new Set(devices.map(({ productId }) => productId))].sort();
  for (const ids of chunks(mentioned)) {
    const [only = ''] = ids;
    const rows =
      ids.length === 1
        ? await oneProduct(transaction, { id: only })
        : await transaction.selectFrom('products').select('id').where('id', 'in', ids).execute();
    for (const { id } of rows) {
      known.add(id);
    }
  }
  const wanted = new Map<string, NewDevice>();
  for (const device of devices) {
    if (!known.has(device.productId) && device.productName !== undefined) {
      known.add(device.productId);
      wanted.set(device.productId, device);
    }
  }
  return { known, wanted: [...wanted.values()] };
}

async function addProducts(
  transaction: OrganizationDatabase,
  firstDevices: readonly NewDevice[],
): Promise<readonly string[]> {
  const rows = firstDevices
    .map(({ productId, productName = productId, createTime }) => ({
      id: productId,
      name: productName,
      ...NEW_PRODUCT,
      create_time: createTime,
    }))
    .sort(byId);
  const added: string[] = [];
  for (const chunk of chunks(rows)) {
    const inserted = await transaction
      .insertInto('products')
      .values(chunk)
      .onConflict((conflict) => conflict.columns(['org_id', 'id']).doNothing())
      .returning('id')
      .execute();
    added.push(...inserted.map(({ id }) => id));
  }
  return added;
}

type Row = ReturnType<typeof toRow>;

const oneInsertion = fixedQuery((database, value: ValueOf<Row>) =>
  insertRows(database, [
    {
      id: value('id'),
      incarnation: value('incarnation'),
      product_id: value('product_id'),
      name: value('name'),
      state: value('state'),
      connected: value('connected'),
      address: value('address'),
      online_time: value('online_time'),
      offline_time: value('offline_time'),
      create_time: value('create_time'),
      register_time: value('register_time'),
      configuration: value('configuration'),
      protocol: value('protocol'),
      transport: value('transport'),
      metadata: value('metadata'),
    },
  ]),
);

function insertRows(database: OrganizationDatabase, rows: readonly Row[]) {
  return database
    .insertInto('devices')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['org_id', 'id']).doNothing())
    .returning('id');
}

async function insertDevices(
  transaction: OrganizationDatabase,
  devices: readonly NewDevice[],
): Promise<ReadonlySet<string>> {
  const created = new Set<string>();
  for (const chunk of chunks([...devices].sort(byId).map(toRow))) {
    const [only] = chunk;
    const inserted =
      only !== undefined && chunk.length === 1
        ? await oneInsertion(transaction, only)
        : await insertRows(transaction, chunk).execute();
    for (const { id } of inserted) {
      created.add(id);
    }
  }
  return created;
}

/** Removes a new product again if no device of it could be inserted. */
async function removeProducts(
  transaction: OrganizationDatabase,
  ids: readonly string[],
): Promise<void> {
  for (const chunk of chunks(ids)) {
    await transaction.deleteFrom('products').where('id', 'in', chunk).execute();
  }
}

function toRow(device: NewDevice) {
  return {
    id: device.id,
    incarnation: randomInt(MAXIMUM_INCARNATION),
    product_id: device.productId,
    name: device.name,
    state: 'notActive',
    connected: 0,
    address: NEVER_CONNECTED_ADDRESS,
    online_time: NEVER,
    offline_time: NEVER,
    create_time: device.createTime,
    register_time: device.createTime,
    configuration: JSON.stringify(device.configuration),
    protocol: device.protocol,
    transport: device.transport,
    metadata: device.metadata,
  };
}

function byId(one: { readonly id: string }, other: { readonly id: string }): number {
  return one.id < other.id ? -1 : 1;
}

function* chunks<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let start = 0; start < items.length; start += ROWS_PER_STATEMENT) {
    yield items.slice(start, start + ROWS_PER_STATEMENT);
  }
}
