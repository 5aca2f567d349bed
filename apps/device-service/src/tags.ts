/**
 * Owns the tags of devices. A tag is a key with a value.
 *
 *   handlers ─▶ rules ─▶ SQL
 *
 * The service does not interpret tags. Deleting a device deletes its tags.
 */
import { MAXIMUM_TAGS, type TagRecord, tagRequest, tagsRequest } from '@gatehouse/device-api';
import { illegalArgument } from '@gatehouse/errors';
import type { OrganizationDatabase } from './database/organization-database.ts';
import { inTransaction, prepared } from './database/queries.ts';
import { type ApiRequest, readJsonBody, withoutInput } from './http/handler.ts';

import { assertFound, parsePayload } from './input.ts';

export const tagHandlers = {
  'tag.list': async ({ database, path }: ApiRequest) => {
    const rows = assertFound(await listTags(database, path.deviceId));
    return { result: rows.map(describeTag) };
  },
  /** Returns all tags of the device. */
  'tag.set': async ({ database, message, path, now }: ApiRequest) => {
    const tags = readTags(await readJsonBody(message));
    const rows = assertFound(await storeTags(database, path.deviceId, tags, now));
    return { result: rows.map(describeTag) };
  },
  /** Accepts the id of a tag, which consists of device and key, or the key. */
  'tag.remove': withoutInput(async ({ database, path }) => {
    const prefix = tagId(path.deviceId, '');
    const key = path.tagId.startsWith(prefix) ? path.tagId.slice(prefix.length) : path.tagId;
    assertFound(await removeTag(database, path.deviceId, key));
    return { result: undefined };
  }),
};

function tagId(deviceId: string, key: string): string {
  return `${deviceId}:${key}`;
}

export function describeTag({ description, ...tag }: TagRow): TagRecord {
  const id = tagId(tag.deviceId, tag.key);
  return { id, ...tag, ...(description === '' ? {} : { description }) };
}

type NewTag = ReturnType<typeof readTags>[number];

/** @throws ApiError `illegal_argument` */
function readTags(body: unknown) {
  const written = Array.isArray(body)
    ? parsePayload(tagsRequest, body)
    : [parsePayload(tagRequest, body)];
  const repeated = written.findIndex(({ key }, i) =>
    written.some((w, j) => j < i && w.key === key),
  );
  if (repeated >= 0) {
    throw illegalArgument([{ property: `[${repeated}].key`, message: 'must be unique' }]);
  }
  return written.map(({ key, name, value, type, description }) => ({
    tag_key: key,
    name: name ?? key,
    value,
    type: type ?? 'string',
    description: description ?? '',
  }));
}

const tagRows = prepared((database, { deviceId }: { readonly deviceId: string }) =>
  selectTags(database, deviceId),
);

export type TagRow = Awaited<ReturnType<typeof tagRows>>[number];

export function selectTags({ tables }: OrganizationDatabase, deviceId: string) {
  return tables
    .selectFrom('device_tags')
    .select(['device_id as deviceId', 'tag_key as key', 'name', 'value', 'type', 'description'])
    .select('create_time as createTime')
    .where('device_id', '=', deviceId)
    .orderBy('tag_key');
}

/** Undefined: the device does not exist. */
async function listTags(
  database: OrganizationDatabase,
  deviceId: string,
): Promise<readonly TagRow[] | undefined> {
  return (await deviceExists(database, deviceId)) ? tagRows(database, { deviceId }) : undefined;
}

/**
 * Sets each tag. An existing key gets the new value and keeps its `create_time`. Undefined: the
 * device does not exist.
 *
 * @throws ApiError `illegal_argument` if the device would have more than 100 tags
 */
export function storeTags(
  database: OrganizationDatabase,
  deviceId: string,
  tags: readonly NewTag[],
  now: number,
): Promise<readonly TagRow[] | undefined> {
  return inTransaction(database, async (transaction) => {
    // Locks the device, so that concurrent requests cannot exceed the maximum.
    if (!(await deviceExists(transaction, deviceId, transaction.engine === 'postgres'))) {
      return undefined;
    }
    await transaction.tables
      .insertInto('device_tags')
      .values(tags.map((tag) => ({ ...tag, device_id: deviceId, create_time: now })))
      .onConflict((conflict) =>
        conflict.columns(['org_id', 'device_id', 'tag_key']).doUpdateSet((expression) => ({
          name: expression.ref('excluded.name'),
          value: expression.ref('excluded.value'),
          type: expression.ref('excluded.type'),
          description: expression.ref('excluded.description'),
        })),
      )
      .execute();
    const all = await tagRows(transaction, { deviceId });
    if (all.length > MAXIMUM_TAGS) {
      const message = `the device would have more than ${MAXIMUM_TAGS} tags`;
      throw illegalArgument([{ property: 'body', message }]);
    }
    return all;
  });
}

async function deviceExists(
  { tables }: OrganizationDatabase,
  id: string,
  lock = false,
): Promise<boolean> {
  const found = await tables
    .selectFrom('devices')
    .select('id')
    .where('id', '=', id)
    .$if(lock, (query) => query.forUpdate())
    .executeTakeFirst();
  return found !== undefined;
}

/** Undefined: the tag does not exist. */
function removeTag({ tables }: OrganizationDatabase, deviceId: string, key: string) {
  return tables
    .deleteFrom('device_tags')
    .where('device_id', '=', deviceId)
    .where('tag_key', '=', key)
    .returning('tag_key')
    .executeTakeFirst();
}
