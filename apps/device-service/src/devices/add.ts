import { randomInt } from 'node:crypto';
import type { newDeviceRequest } from '@gatehouse/device-api';
import type { z } from 'zod';
import type { OrganizationDatabase } from '../database/organization-database.ts';
import { inTransaction, prepared, withOneChange } from '../database/queries.ts';
import { NEW_PRODUCT } from '../products.ts';
import { type DeviceRow, findDevice } from './rows.ts';

/** What the client supplies. The server sets the other members. */
export interface NewDevice extends z.infer<typeof newDeviceRequest> {
  readonly id: string;
  readonly createTime: number;
}

export type AddOutcome = 'created' | 'duplicate_key' | 'unknown_product';

/** With 16 parameters per row, below the limits of SQLite (32,766) and PostgreSQL (65,535). */
const ROWS_PER_STATEMENT = 1000;

const NEVER = 0;
const NEVER_CONNECTED_ADDRESS = '/';
const MAXIMUM_INCARNATION = 2 ** 48 - 1;

/**
 * Adds the device, and its product if it is new, in one atomic step. Of several calls with the same
 * id, one succeeds. A rejected device leaves no product.
 */
export async function addDevice(
  database: OrganizationDatabase,
  device: NewDevice,
): Promise<DeviceRow | Exclude<AddOutcome, 'created'>> {
  const added = await withOneChange(database, (current) => addToKnownProduct(current, device));
  if (added !== undefined) {
    return added;
  }
  return inTransaction(database, async (transaction) => {
    const [outcome] = (await insertDevices(transaction, [device])) as [AddOutcome];
    return outcome === 'created'
      ? ((await findDevice(transaction, device.id)) as DeviceRow)
      : outcome;
  });
}

const productRows = prepared(({ tables }, { id }: { readonly id: string }) =>
  tables
    .selectFrom('products')
    .select(['name as product_name', 'device_type', 'protocol', 'transport', 'metadata'])
    .where('id', '=', id),
);

const insertedIds = prepared((database, row: Row) => insertRows(database, [row]));

/** Undefined if the product does not exist yet. The only change is the insertion. */
async function addToKnownProduct(
  database: OrganizationDatabase,
  device: NewDevice,
): Promise<DeviceRow | 'duplicate_key' | undefined> {
  const [product] = await productRows(database, { id: device.productId });
  if (product === undefined) {
    return undefined;
  }
  const row = toRow(device);
  const inserted = await insertedIds(database, row);
  return inserted.length === 0
    ? 'duplicate_key'
    : {
        ...row,
        ...product,
        protocol: row.protocol ?? product.protocol,
        transport: row.transport ?? product.transport,
        metadata: row.metadata ?? product.metadata,
        tags: '[]',
      };
}

/**
 * Adds devices and their new products, and resolves to the outcome of each device, in order. Rows are
 * sorted by id, so that two batches with common ids cannot deadlock.
 */
export async function insertDevices(
  transaction: OrganizationDatabase,
  devices: readonly NewDevice[],
): Promise<readonly AddOutcome[]> {
  const { tables } = transaction;
  const mentioned = [...new Set(devices.map(({ productId }) => productId))].sort();
  const products = new Set(
    await idsOf(mentioned, (ids) =>
      tables.selectFrom('products').select('id').where('id', 'in', ids),
    ),
  );
  const newProducts = await insertProducts(transaction, devices, products);
  const firsts = new Map<string, NewDevice>();
  for (const device of devices) {
    if (products.has(device.productId) && !firsts.has(device.id)) {
      firsts.set(device.id, device);
    }
  }
  const rows = [...firsts.values()].map(toRow).sort(byId);
  const created = new Set(await idsOf(rows, (chunk) => insertRows(transaction, chunk)));
  const used = new Set(rows.filter(({ id }) => created.has(id)).map((row) => row.product_id));
  // Removes a new product again if no device of it could be inserted.
  const unused = newProducts.filter((id) => !used.has(id));
  await idsOf(unused, (ids) =>
    tables.deleteFrom('products').where('id', 'in', ids).returning('id'),
  );
  return devices.map((device) => {
    if (!products.has(device.productId)) {
      return 'unknown_product';
    }
    const isFirst = firsts.get(device.id) === device;
    return isFirst && created.has(device.id) ? 'created' : 'duplicate_key';
  });
}

/** The first device that names a missing product defines it. Adds its id to `known`. */
function insertProducts(
  { tables }: OrganizationDatabase,
  devices: readonly NewDevice[],
  known: Set<string>,
): Promise<readonly string[]> {
  const rows = [];
  for (const { productId, productName, createTime } of devices) {
    if (!known.has(productId) && typeof productName === 'string') {
      known.add(productId);
      rows.push({ id: productId, name: productName, ...NEW_PRODUCT, create_time: createTime });
    }
  }
  return idsOf(rows.sort(byId), (chunk) =>
    tables
      .insertInto('products')
      .values(chunk)
      .onConflict((conflict) => conflict.columns(['org_id', 'id']).doNothing())
      .returning('id'),
  );
}

/** Runs a query for each part of a long list, and resolves to the ids of all its rows. */
async function idsOf<Item>(
  items: readonly Item[],
  query: (chunk: readonly Item[]) => { execute(): Promise<readonly { readonly id: string }[]> },
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let start = 0; start < items.length; start += ROWS_PER_STATEMENT) {
    const found = await query(items.slice(start, start + ROWS_PER_STATEMENT)).execute();
    ids.push(...found.map(({ id }) => id));
  }
  return ids;
}

type Row = ReturnType<typeof toRow>;

function insertRows({ tables }: OrganizationDatabase, rows: readonly Row[]) {
  return tables
    .insertInto('devices')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['org_id', 'id']).doNothing())
    .returning('id');
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
    configuration: JSON.stringify(device.configuration ?? {}),
    // Null: the value of the product applies.
    protocol: device.protocol ?? null,
    transport: device.transport ?? null,
    metadata: device.metadata ?? null,
  };
}

function byId(one: { readonly id: string }, other: { readonly id: string }): number {
  return one.id < other.id ? -1 : 1;
}
