import { ApiError } from '@gatehouse/errors';
import { findByDeviceId } from '../input/find-by-device-id.ts';
import type { InventoryOf } from '../inventory/inventory.ts';
import { setTags } from '../tags/set-tags.ts';
import { describeTag, tagId } from '../tags/tag.ts';
import type { Handler } from './handle-requests.ts';
import { readJsonBody } from './json-body.ts';
import { pathPart } from './request-parts.ts';

export interface TagHandlerDependencies {
  readonly inventoryOf: InventoryOf;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function handleListTags({ inventoryOf }: TagHandlerDependencies): Handler {
  return async (request, caller) => {
    const { tags } = inventoryOf(caller.organizationId);
    const found = await findByDeviceId(pathPart(request, 'deviceId'), tags.list);
    return { result: found.map(describeTag) };
  };
}

/** Returns all tags of the device. */
export function handleSetTags({ inventoryOf, now }: TagHandlerDependencies): Handler {
  return async (request, caller) => {
    const { tags } = inventoryOf(caller.organizationId);
    const body = await readJsonBody(request);
    const all = await setTags(pathPart(request, 'deviceId'), body, { tags, now });
    return { result: all.map(describeTag) };
  };
}

/** Accepts the id of a tag, which consists of device and key, or the key. */
export function handleRemoveTag({ inventoryOf }: TagHandlerDependencies): Handler {
  return async (request, caller) => {
    const { tags } = inventoryOf(caller.organizationId);
    const deviceId = pathPart(request, 'deviceId');
    const named = pathPart(request, 'tagId');
    const prefix = tagId({ deviceId, key: '' });
    const key = named.startsWith(prefix) ? named.slice(prefix.length) : named;
    if (key.includes('\0') || !(await tags.remove(deviceId, key))) {
      throw new ApiError('not_found');
    }
    return { result: undefined };
  };
}
