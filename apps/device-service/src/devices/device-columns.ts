import { sql } from 'kysely';
import type { ColumnExpressions } from '../query-grammar/compile-condition.ts';
import type { Ordering } from '../query-grammar/orderings.ts';
import type { deviceQueryColumns } from './device-subject.ts';

/** Indexes cover id, name, createTime, state, productId, and state with productId. */
export const deviceOrdering: Ordering = {
  defaultSorts: [{ column: 'createTime', descending: true }],
  tieBreak: 'opposite',
};

export const deviceColumns: ColumnExpressions = {
  id: sql.ref('devices.id'),
  name: sql.ref('devices.name'),
  orgId: sql.ref('devices.org_id'),
  productId: sql.ref('devices.product_id'),
  productName: sql.ref('products.name'),
  protocol: sql`coalesce(devices.protocol, products.protocol)`,
  transport: sql`coalesce(devices.transport, products.transport)`,
  deviceType: sql.ref('products.device_type'),
  state: sql.ref('devices.state'),
  address: sql.ref('devices.address'),
  onlineTime: sql.ref('devices.online_time'),
  offlineTime: sql.ref('devices.offline_time'),
  createTime: sql.ref('devices.create_time'),
  registerTime: sql.ref('devices.register_time'),
  registryTime: sql.ref('devices.register_time'),
} satisfies Record<keyof typeof deviceQueryColumns, unknown>;

/** A query on one of these columns has to join the products before it selects the page. */
export const productColumns: ReadonlySet<string> = new Set([
  'productName',
  'protocol',
  'transport',
  'deviceType',
]);
