import { MAXIMUM_TAGS } from '@gatehouse/device-api';
import { illegalArgument } from '@gatehouse/errors';
import type { Selectable } from 'kysely';
import { fixedQuery, type ValueOf } from '../database/fixed-query.ts';
import { inTransaction } from '../database/in-transaction.ts';
import type { OrganizationDatabase } from '../database/organization-scope.ts';
import type { DatabaseEngine, DeviceTagTable } from '../tables/tables.ts';
import type { NewTag, Tag, Tags } from './tag.ts';

export function createSqlTags(database: OrganizationDatabase, engine: DatabaseEngine): Tags {
  return {
    list: async (deviceId) =>
      (await deviceExists(database, deviceId)) ? readTags(database, deviceId) : undefined,
    set: (deviceId, tags, now) =>
      inTransaction(database, async (transaction) => {
        // Locks the device, so that concurrent requests cannot exceed the maximum.
        if (!(await deviceExists(transaction, deviceId, engine === 'postgres'))) {
          return undefined;
        }
        await upsertTags(transaction, deviceId, tags, now);
        const all = await readTags(transaction, deviceId);
        if (all.length > MAXIMUM_TAGS) {
          const message = `the device would have more than ${MAXIMUM_TAGS} tags`;
          throw illegalArgument([{ property: 'body', message }]);
        }
        return all;
      }),
    remove: async (deviceId, key) => {
      const removed = await database
        .deleteFrom('device_tags')
        .where('device_id', '=', deviceId)
        .where('tag_key', '=', key)
        .returning('tag_key')
        .executeTakeFirst();
      return removed !== undefined;
    },
  };
}

async function deviceExists(
  database: OrganizationDatabase,
  id: string,
  lock = false,
): Promise<boolean> {
  const found = await database
    .selectFrom('devices')
    .select('id')
    .where('id', '=', id)
    .$if(lock, (query) => query.forUpdate())
    .executeTakeFirst();
  return found !== undefined;
}

const tagRows = fixedQuery((database, value: ValueOf<{ deviceId: string }>) =>
  selectTags(database, value('deviceId')),
);

export function selectTags(database: OrganizationDatabase, deviceId: string) {
  return database
    .selectFrom('device_tags')
    .select(['device_id', 'tag_key', 'name', 'value', 'type', 'description', 'create_time'])
    .where('device_id', '=', deviceId)
    .orderBy('tag_key');
}

async function readTags(database: OrganizationDatabase, deviceId: string): Promise<readonly Tag[]> {
  return (await tagRows(database, { deviceId })).map(toTag);
}

async function upsertTags(
  transaction: OrganizationDatabase,
  deviceId: string,
  tags: readonly NewTag[],
  now: number,
): Promise<void> {
  await transaction
    .insertInto('device_tags')
    .values(
      tags.map(({ key, name, value, type, description }) => ({
        device_id: deviceId,
        tag_key: key,
        name,
        value,
        type,
        description,
        create_time: now,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['org_id', 'device_id', 'tag_key']).doUpdateSet((expression) => ({
        name: expression.ref('excluded.name'),
        value: expression.ref('excluded.value'),
        type: expression.ref('excluded.type'),
        description: expression.ref('excluded.description'),
      })),
    )
    .execute();
}

export function toTag(row: Omit<Selectable<DeviceTagTable>, 'org_id'>): Tag {
  return {
    deviceId: row.device_id,
    key: row.tag_key,
    name: row.name,
    value: row.value,
    type: row.type,
    description: row.description,
    createTime: row.create_time,
  };
}
