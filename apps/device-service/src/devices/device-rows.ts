import type { DeviceState, DeviceType } from '@gatehouse/device-api';
import { type Selectable, sql } from 'kysely';
import { fixedQuery, type ValueOf } from '../database/fixed-query.ts';
import { jsonArray } from '../database/json-array.ts';
import { type OrganizationDatabase, organizationOf } from '../database/organization-scope.ts';
import type { DeviceTable, ProductTable } from '../tables/tables.ts';
import { selectTags, toTag } from '../tags/sql-tags.ts';
import type { Device, DeviceSummary } from './device.ts';

export const summaryColumns = [
  'devices.id',
  'devices.product_id',
  'devices.name',
  'devices.state',
  'devices.address',
  'devices.online_time',
  'devices.offline_time',
  'devices.create_time',
  'devices.register_time',
] as const;

/** A device without a value has that of its product. */
export const productSummaryColumns = [
  'products.name as product_name',
  'products.device_type',
  sql<string>`coalesce(devices.protocol, products.protocol)`.as('protocol'),
  sql<string>`coalesce(devices.transport, products.transport)`.as('transport'),
] as const;

const deviceRow = fixedQuery((database, value: ValueOf<{ id: string }>) =>
  database
    .selectFrom('devices')
    .innerJoin('products', 'products.id', 'devices.product_id')
    .select(summaryColumns)
    .select(productSummaryColumns)
    .select('devices.configuration')
    .select(sql<string>`coalesce(devices.metadata, products.metadata)`.as('metadata'))
    .select(jsonArray(database, selectTags(database, value('id'))).as('tags'))
    .where('devices.id', '=', value('id')),
);

export async function findDevice(
  database: OrganizationDatabase,
  id: string,
): Promise<Device | undefined> {
  const [row] = await deviceRow(database, { id });
  if (row === undefined) {
    return undefined;
  }
  return {
    ...toSummary(row, organizationOf(database)),
    metadata: row.metadata,
    configuration: JSON.parse(row.configuration) as Record<string, string>,
    tags: (JSON.parse(row.tags) as Parameters<typeof toTag>[0][]).map(toTag),
  };
}

type SummaryColumn<Name extends string> = Name extends `devices.${infer Column}` ? Column : never;

export type SummaryRow = Pick<
  Selectable<DeviceTable>,
  SummaryColumn<(typeof summaryColumns)[number]>
> & { readonly product_name: string } & Pick<
    ProductTable,
    'device_type' | 'protocol' | 'transport'
  >;

export function toSummary(row: SummaryRow, organizationId: string): DeviceSummary {
  return {
    id: row.id,
    name: row.name,
    orgId: organizationId,
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
