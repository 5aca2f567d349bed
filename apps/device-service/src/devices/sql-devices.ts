import { ApiError, illegalArgument } from '@gatehouse/api-envelope';
import type { Selectable } from 'kysely';
import type { DeviceDatabase, DeviceTable, ProductTable } from '../database/database.ts';
import { inTransaction } from '../database/in-transaction.ts';
import type { PageRequest } from '../query-grammar/page-request.ts';
import type { Device, DeviceState, DeviceSummary, DeviceType, NewDevice } from './device.ts';
import type { DevicePage, DevicesOf } from './devices.ts';

/** What a product is until somebody says otherwise. */
const NEW_PRODUCT = {
  protocol: '',
  transport: '',
  metadata: '{"events":[],"properties":[],"functions":[],"tags":[]}',
} as const;

const NEVER = 0;
const NEVER_CONNECTED_ADDRESS = '/';

/** The one place where devices meet SQL. Every query starts from `selectDevices`, which is one organisation. */
export function createDevicesOf(database: DeviceDatabase): DevicesOf {
  return (organizationId) => ({
    find: (id) => findDevice(database, organizationId, id),
    page: (request) => readPage(database, organizationId, request),
    add: (device) =>
      inTransaction(database, async (transaction) => {
        await ensureProduct(transaction, organizationId, device);
        await insertDevice(transaction, organizationId, device);
        const added = await findDevice(transaction, organizationId, device.id);
        if (added === undefined) {
          throw new Error('A device that was just inserted is missing.');
        }
        return added;
      }),
  });
}

function selectDevices(database: DeviceDatabase, organizationId: string) {
  return database.selectFrom('devices').where('devices.org_id', '=', organizationId);
}

function selectSummaries(database: DeviceDatabase, organizationId: string) {
  return selectDevices(database, organizationId)
    .innerJoin('products', (join) =>
      join
        .onRef('products.org_id', '=', 'devices.org_id')
        .onRef('products.id', '=', 'devices.product_id'),
    )
    .selectAll('devices')
    .select(['products.name as product_name', 'products.protocol', 'products.transport']);
}

async function findDevice(
  database: DeviceDatabase,
  organizationId: string,
  id: string,
): Promise<Device | undefined> {
  const row = await selectSummaries(database, organizationId)
    .select('products.metadata')
    .where('devices.id', '=', id)
    .executeTakeFirst();
  return row === undefined
    ? undefined
    : {
        ...toSummary(row),
        metadata: row.metadata,
        configuration: JSON.parse(row.configuration) as Record<string, string>,
      };
}

async function readPage(
  database: DeviceDatabase,
  organizationId: string,
  { pageIndex, pageSize }: PageRequest,
): Promise<DevicePage> {
  const { total } = await selectDevices(database, organizationId)
    .select((expression) => expression.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  // Also keeps an offset that no integer can hold away from the database.
  if (pageIndex * pageSize >= total) {
    return { total, devices: [] };
  }
  const rows = await selectSummaries(database, organizationId)
    .orderBy('devices.create_time', 'desc')
    .orderBy('devices.id')
    .limit(pageSize)
    .offset(pageIndex * pageSize)
    .execute();
  return { total, devices: rows.map(toSummary) };
}

async function ensureProduct(
  transaction: DeviceDatabase,
  organizationId: string,
  device: NewDevice,
): Promise<void> {
  if (device.productName !== undefined) {
    await transaction
      .insertInto('products')
      .values({
        org_id: organizationId,
        id: device.productId,
        name: device.productName,
        ...NEW_PRODUCT,
        create_time: device.createTime,
      })
      .onConflict((conflict) => conflict.columns(['org_id', 'id']).doNothing())
      .execute();
    return;
  }
  const known = await transaction
    .selectFrom('products')
    .select('id')
    .where('org_id', '=', organizationId)
    .where('id', '=', device.productId)
    .executeTakeFirst();
  if (known === undefined) {
    throw illegalArgument([
      { property: 'productName', message: 'is required for a product that does not exist yet' },
    ]);
  }
}

async function insertDevice(
  transaction: DeviceDatabase,
  organizationId: string,
  device: NewDevice,
): Promise<void> {
  const inserted = await transaction
    .insertInto('devices')
    .values({
      org_id: organizationId,
      id: device.id,
      product_id: device.productId,
      name: device.name,
      device_type: 'device',
      state: 'notActive',
      address: NEVER_CONNECTED_ADDRESS,
      online_time: NEVER,
      offline_time: NEVER,
      create_time: device.createTime,
      register_time: device.createTime,
      configuration: JSON.stringify(device.configuration),
    })
    .onConflict((conflict) => conflict.columns(['org_id', 'id']).doNothing())
    .returning('id')
    .executeTakeFirst();
  if (inserted === undefined) {
    throw new ApiError('duplicate_key');
  }
}

type SummaryRow = Selectable<DeviceTable> & {
  readonly product_name: string;
} & Pick<ProductTable, 'protocol' | 'transport'>;

function toSummary(row: SummaryRow): DeviceSummary {
  return {
    id: row.id,
    name: row.name,
    orgId: row.org_id,
    productId: row.product_id,
    productName: row.product_name,
    protocol: row.protocol,
    transport: row.transport,
    deviceType: row.device_type as DeviceType,
    state: row.state as DeviceState,
    address: row.address,
    onlineTime: row.online_time,
    offlineTime: row.offline_time,
    createTime: row.create_time,
    registerTime: row.register_time,
  };
}
