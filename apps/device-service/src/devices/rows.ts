import {
  type deviceChangesRequest,
  MAXIMUM_CONFIGURATION_ENTRIES,
  type TagRecord,
} from '@gatehouse/device-api';
import { illegalArgument } from '@gatehouse/errors';
import { type RawBuilder, sql } from 'kysely';
import type { z } from 'zod';
import type { OrganizationDatabase } from '../database/organization-database.ts';
import { inTransaction, jsonArray, prepared } from '../database/queries.ts';

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

const deviceRows = prepared((database, { id }: { readonly id: string }) =>
  database.tables
    .selectFrom('devices')
    .innerJoin('products', 'products.id', 'devices.product_id')
    .select([...summaryColumns, 'devices.configuration'])
    .select(['products.name as product_name', 'products.device_type'])
    // A device without a value has that of its product.
    .select([
      sql<string>`coalesce(devices.protocol, products.protocol)`.as('protocol'),
      sql<string>`coalesce(devices.transport, products.transport)`.as('transport'),
      sql<string>`coalesce(devices.metadata, products.metadata)`.as('metadata'),
    ])
    .select(jsonArray(database, selectTags(database, id)).as('tags'))
    .where('devices.id', '=', id),
);

function selectTags({ tables }: OrganizationDatabase, deviceId: string) {
  return tables
    .selectFrom('device_tags')
    .select(['device_id as deviceId', 'tag_key as key', 'name', 'value', 'type', 'description'])
    .select('create_time as createTime')
    .where('device_id', '=', deviceId)
    .orderBy('tag_key');
}

/** A device with its tags. `configuration` and `tags` are JSON texts. */
export type DeviceRow = Awaited<ReturnType<typeof deviceRows>>[number];

export async function findDevice(
  database: OrganizationDatabase,
  id: string,
): Promise<DeviceRow | undefined> {
  const [row] = await deviceRows(database, { id });
  return row;
}

export function tagId(deviceId: string, key: string): string {
  return `${deviceId}:${key}`;
}

export function tagsOf({ tags }: DeviceRow): readonly TagRecord[] {
  const rows = JSON.parse(tags) as (Omit<TagRecord, 'id'> & { readonly description: string })[];
  return rows.map(({ description, ...tag }) => ({
    id: tagId(tag.deviceId, tag.key),
    ...tag,
    ...(description === '' ? {} : { description }),
  }));
}

/**
 * Absent members do not change. Resolves to the changed device, or undefined if it does not exist.
 *
 * @throws ApiError `illegal_argument`
 */
export function changeDevice(
  database: OrganizationDatabase,
  id: string,
  { productId, configuration, ...columns }: z.infer<typeof deviceChangesRequest>,
): Promise<DeviceRow | undefined> {
  return inTransaction(database, async (transaction) => {
    const current = await transaction.tables
      .selectFrom('devices')
      .select(['configuration', 'product_id'])
      .where('id', '=', id)
      // In SQLite, the transaction already holds the lock.
      .$if(transaction.engine === 'postgres', (query) => query.forUpdate())
      .executeTakeFirst();
    if (current === undefined) {
      return undefined;
    }
    if (productId !== undefined && productId !== current.product_id) {
      throw illegalArgument([{ property: 'productId', message: 'cannot be changed' }]);
    }
    const changes = {
      ...columns,
      ...(configuration && { configuration: merge(current.configuration, configuration) }),
    };
    if (Object.keys(changes).length > 0) {
      await transaction.tables.updateTable('devices').set(changes).where('id', '=', id).execute();
    }
    return findDevice(transaction, id);
  });
}

/** RFC 7396: null removes a key, every other value sets it. */
function merge(current: string, changes: Readonly<Record<string, string | null>>): string {
  const merged = { ...(JSON.parse(current) as Record<string, string>), ...changes };
  const entries = Object.entries(merged).filter(([, value]) => value !== null);
  if (entries.length > MAXIMUM_CONFIGURATION_ENTRIES) {
    const message = `must have at most ${MAXIMUM_CONFIGURATION_ENTRIES} entries`;
    throw illegalArgument([{ property: 'configuration', message }]);
  }
  return JSON.stringify(Object.fromEntries(entries));
}

/** Changes `notActive` to `online` if a connection exists, otherwise to `offline`. */
export const deployDevices = setState(
  sql<string>`case when connected = 1 then 'online' else 'offline' end`,
  sql<boolean>`state = 'notActive'`,
);
export const deploy = changeOne(deployDevices);

/** Changes every state to `notActive`. */
export const undeploy = changeOne(
  setState(sql<string>`'notActive'`, sql<boolean>`state <> 'notActive'`),
);

function setState(state: RawBuilder<string>, condition: RawBuilder<boolean>) {
  return async ({ tables }: OrganizationDatabase, ids: readonly string[]): Promise<void> => {
    const devices = tables.updateTable('devices').set({ state }).where('id', 'in', ids);
    await devices.where(condition).execute();
  };
}

function changeOne(change: ReturnType<typeof setState>) {
  return (database: OrganizationDatabase, id: string): Promise<DeviceRow | undefined> =>
    inTransaction(database, async (transaction) => {
      await change(transaction, [id]);
      return findDevice(transaction, id);
    });
}

/**
 * The states of those devices that exist. Locks them in the order of their ids, so that two batches
 * with common ids cannot deadlock.
 */
export async function lockStates(
  { tables, engine }: OrganizationDatabase,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const devices = tables.selectFrom('devices').select(['id', 'state']).where('id', 'in', ids);
  const rows =
    ids.length === 0
      ? []
      : await devices
          .orderBy('id')
          // In SQLite, the transaction already holds the lock.
          .$if(engine === 'postgres', (query) => query.forUpdate())
          .execute();
  return new Map(rows.map(({ id, state }) => [id, state]));
}

/**
 * Removes those of the devices that are `notActive`, with their tags, and makes their logs
 * unreachable. Resolves to their number.
 */
export async function removeDevices(
  { tables }: OrganizationDatabase,
  ids: readonly string[],
): Promise<number> {
  const devices = tables.deleteFrom('devices').where('id', 'in', ids);
  const { numDeletedRows } = await devices
    .where('state', '=', 'notActive')
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
