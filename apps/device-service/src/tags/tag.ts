/**
 * Owns the tags of devices: a key with a value, at most one a key and device.
 *
 *   http/ ─▶ set-tags, list, remove ─▶ Tags (port) ◀─ sql-tags (adapter)
 *
 * What a tag means is not here; a device that goes takes its tags along.
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
  /** The data type of the value, as its makers call it. */
  readonly type: string;
  readonly description: string;
}

/** Made of what makes a tag unique, so that it can be said without asking. */
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

/** The tags of one organisation's devices. Undefined: no such device. */
export interface Tags {
  list(deviceId: string): Promise<readonly Tag[] | undefined>;

  /**
   * Sets each: a key that is there gets the new value and keeps its `createTime`.
   *
   * @throws ApiError `illegal_argument` where the device would have more than 100
   */
  set(deviceId: string, tags: readonly NewTag[], now: number): Promise<readonly Tag[] | undefined>;

  /** Whether there was one. */
  remove(deviceId: string, key: string): Promise<boolean>;
}
