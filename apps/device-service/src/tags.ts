/**
 * Owns the tags of devices. A tag is a key with a value.
 *
 *   handlers ─▶ rules ─▶ SQL
 *
 * The service does not interpret tags. Deleting a device deletes its tags.
 */
import { MAXIMUM_TAGS, tagRequest, tagsRequest } from '@gatehouse/device-api';
import { illegalArgument } from '@gatehouse/errors';
import type { OrganizationDatabase } from './database/organization-database.ts';
import { inTransaction } from './database/queries.ts';
import { type DeviceRow, findDevice, lockStates, tagId, tagsOf } from './devices/rows.ts';
import { type ApiRequest, readJsonBody } from './http/handler.ts';
import { assertFound, parsePayload } from './input.ts';

export const tagHandlers = {
  'tag.list': async ({ database, path }: ApiRequest) => ({
    result: tagsOf(assertFound(await findDevice(database, path.deviceId))),
  }),
  /** Returns all tags of the device. */
  'tag.set': async ({ database, message, path, now }: ApiRequest) => {
    const tags = readTags(await readJsonBody(message));
    return { result: tagsOf(assertFound(await storeTags(database, path.deviceId, tags, now))) };
  },
  /** Accepts the id of a tag, which consists of device and key, or the key. */
  'tag.remove': async ({ database, path }: ApiRequest) => {
    const prefix = tagId(path.deviceId, '');
    const key = path.tagId.startsWith(prefix) ? path.tagId.slice(prefix.length) : path.tagId;
    assertFound(await removeTag(database, path.deviceId, key));
    return { result: undefined };
  },
};

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
): Promise<DeviceRow | undefined> {
  return inTransaction(database, async (transaction) => {
    // The lock keeps concurrent requests from exceeding the maximum.
    if ((await lockStates(transaction, [deviceId])).size === 0) {
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
    const device = (await findDevice(transaction, deviceId)) as DeviceRow;
    if (tagsOf(device).length > MAXIMUM_TAGS) {
      const message = `the device would have more than ${MAXIMUM_TAGS} tags`;
      throw illegalArgument([{ property: 'body', message }]);
    }
    return device;
  });
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
