import type { DeviceState, DeviceType } from '@gatehouse/device-api';
import type { Selectable } from 'kysely';
import { fixedQuery, type ValueOf } from '../database/fixed-query.ts';
import { jsonArray } from '../database/json-array.ts';
import type { OrganizationDatabase } from '../database/organization-scope.ts';
import type { DeviceTable, ProductTable } from '../tables/tables.ts';
import { selectTags, toTag } from '../tags/sql-tags.ts';
import type { Device, DeviceSummary } from './device.ts';

export const summaryColumns = [
  'devices.org_id',
  'devices.id',
  'devices.product_id',
  'devices.name',
  'devices.state',
  'devices.address',
  'devices.online_time',
  'devices.offline_time',
  'devices.create_time',
  'devices.register_time',
  'devices.protocol',
  'devices.transport',
] as const;

export const productSummaryColumns = [
  'products.name as product_name',
  'products.device_type',
  'products.protocol as product_protocol',
  'products.transport as product_transport',
] as const;

const deviceRow = fixedQuery((database, value: ValueOf<{ id: string }>) =>
  database
    .selectFrom('devices')
    .innerJoin('products', 'products.id', 'devices.product_id')
    .select(summaryColumns)
    .select(productSummaryColumns)
    .select(['devices.configuration', 'devices.metadata', 'products.metadata as product_metadata'])
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
    ...toSummary(row),
    metadata: row.metadata ?? row.product_metadata,
    configuration: JSON.parse(row.configuration) as Record<string, string>,
    tags: (JSON.parse(row.tags) as Parameters<typeof toTag>[0][]).map(toTag),
  };
}

type SummaryColumn<Name extends string> = Name extends `devices.${infer Column}` ? Column : never;

export type SummaryRow = Pick<
  Selectable<DeviceTable>,
  SummaryColumn<(typeof summaryColumns)[number]>
> & {
  readonly product_name: string;
  readonly product_protocol: string;
  readonly product_transport: string;
} & Pick<ProductTable, 'device_type'>;

export function toSummary(row: SummaryRow): DeviceSummary {
  return {
    id: row.id,
    name: row.name,
    orgId: row.org_id,
    productId: row.product_id,
    productName: row.product_name,
    protocol: row.protocol ?? row.product_protocol,
    transport: row.transport ?? row.product_transport,
    deviceType: row.device_type as DeviceType,
    state: row.state as DeviceState,
    address: row.address,
    onlineTime: row.online_time,
    offlineTime: row.offline_time,
    createTime: row.create_time,
    registerTime: row.register_time,
  };
}
