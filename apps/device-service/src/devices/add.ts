import { randomInt } from 'node:crypto';
import type { OrganizationDatabase } from '../database/organization-database.ts';
import { inTransaction, prepared, withOneChange } from '../database/queries.ts';
import { NEW_PRODUCT } from '../products.ts';
import { type DeviceRow, findDevice } from './rows.ts';

/** The members that the client supplies. The server sets the others. */
export interface NewDevice {
  readonly id: string;
  readonly name: string;
  readonly productId: string;
  /** Required if the product does not exist. An existing product keeps its name. */
  readonly productName: string | undefined;
  readonly configuration: Readonly<Record<string, string>>;
  /** Null: the value of the product applies. Also for `transport` and `metadata`. */
  readonly protocol: string | null;
  readonly transport: string | null;
  readonly metadata: string | null;
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
    const [outcome] = await insertDevices(transaction, [device]);
    if (outcome === 'duplicate_key' || outcome === 'unknown_product') {
      return outcome;
    }
    const row = await findDevice(transaction, device.id);
    if (row === undefined) {
      throw new Error('A device that was just inserted is missing.');
    }
    return row;
  });
}

/**
 * Adds devices in one atomic step, and resolves to the outcome of each, in order. With
 * `allOrNothing`, one invalid device prevents all.
 */
export async function addDevices(
  database: OrganizationDatabase,
  devices: readonly NewDevice[],
  allOrNothing: boolean,
): Promise<readonly AddOutcome[]> {
  let outcomes: readonly AddOutcome[] = [];
  const nothingAdded = new Error('One device of a batch cannot be added.');
  try {
    await inTransaction(database, async (transaction) => {
      outcomes = await insertDevices(transaction, devices);
      if (allOrNothing && outcomes.some((outcome) => outcome !== 'created')) {
        throw nothingAdded;
      }
    });
  } catch (error) {
    if (error !== nothingAdded) {
      throw error;
    }
  }
  return outcomes;
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
 * Inserts devices and their new products. Rows are sorted by id, so that two batches with common ids
 * cannot deadlock.
 */
async function insertDevices(
  transaction: OrganizationDatabase,
  devices: readonly NewDevice[],
): Promise<readonly AddOutcome[]> {
  const { known, wanted } = await findProducts(transaction, devices);
  const firsts = new Map<string, NewDevice>();
  for (const device of devices) {
    if (known.has(device.productId) && !firsts.has(device.id)) {
      firsts.set(device.id, device);
    }
  }
  const newProducts = await insertProducts(transaction, wanted);
  const created = new Set<string>();
  for (const chunk of chunks([...firsts.values()].map(toRow).sort(byId))) {
    for (const { id } of await insertRows(transaction, chunk).execute()) {
      created.add(id);
    }
  }
  const used = new Set(
    [...firsts.values()].filter(({ id }) => created.has(id)).map(({ productId }) => productId),
  );
  // Removes a new product again if no device of it could be inserted.
  for (const chunk of chunks(newProducts.filter((id) => !used.has(id)))) {
    await transaction.tables.deleteFrom('products').where('id', 'in', chunk).execute();
  }
  return devices.map((device) => {
    if (!known.has(device.productId)) {
      return 'unknown_product';
    }
    const isFirst = firsts.get(device.id) === device;
    return isFirst && created.has(device.id) ? 'created' : 'duplicate_key';
  });
}

/** Finds existing products. The first device that names a missing product defines it. */
async function findProducts({ tables }: OrganizationDatabase, devices: readonly NewDevice[]) {
  const known = new Set<string>();
  const mentioned = [...new Set(devices.map(({ productId }) => productId))].sort();
  for (const ids of chunks(mentioned)) {
    for (const { id } of await tables
      .selectFrom('products')
      .select('id')
      .where('id', 'in', ids)
      .execute()) {
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

async function insertProducts(
  { tables }: OrganizationDatabase,
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
    const inserted = await tables
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
