/**
 * Owns the tags of devices. A tag is a key with a value.
 *
 *   http/ ─▶ set-tags, list, remove ─▶ Tags (port) ◀─ sql-tags (adapter)
 *
 * The service does not interpret tags. Deleting a device deletes its tags.
 */
import type { TagRecord } from '@gatehouse/device-api';

export interface Tag extends NewTag {
  readonly deviceId: string;
  readonly createTime: number;
}

export interface NewTag {
  readonly key: string;
  readonly name: string;
  readonly value: string;
  /** The name of the data type, which the client chooses. */
  readonly type: string;
  readonly description: string;
}

export function tagId({ deviceId, key }: Pick<Tag, 'deviceId' | 'key'>): string {
  return `${deviceId}:${key}`;
}

export function describeTag(tag: Tag): TagRecord {
  const { deviceId, key, name, value, type, createTime, description } = tag;
  return {
    id: tagId(tag),
    deviceId,
    key,
    name,
    value,
    type,
    createTime,
    ...(description === '' ? {} : { description }),
  };
}

/** The tags of one organization. Undefined: the device does not exist. */
export interface Tags {
  list(deviceId: string): Promise<readonly Tag[] | undefined>;

  /**
   * Sets each tag. An existing key gets the new value and keeps its `createTime`.
   *
   * @throws ApiError `illegal_argument` if the device would have more than 100 tags
   */
  set(deviceId: string, tags: readonly NewTag[], now: number): Promise<readonly Tag[] | undefined>;

  /** Resolves to whether the tag existed. */
  remove(deviceId: string, key: string): Promise<boolean>;
}
