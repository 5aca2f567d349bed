import { tagRequest, tagsRequest } from '@gatehouse/device-api';
import { illegalArgument } from '@gatehouse/errors';
import { findByDeviceId } from '../input/find-by-device-id.ts';
import { parsePayload } from '../input/parse-payload.ts';
import type { Tag, Tags } from './tag.ts';

/**
 * Sets one tag or an array of tags, and resolves to all tags of the device.
 *
 * @throws ApiError `not_found`, `illegal_argument`
 */
export async function setTags(
  deviceId: string,
  body: unknown,
  { tags, now }: { readonly tags: Tags; readonly now: () => number },
): Promise<readonly Tag[]> {
  const written = Array.isArray(body)
    ? parsePayload(tagsRequest, body)
    : [parsePayload(tagRequest, body)];
  const repeated = written.findIndex(({ key }, i) =>
    written.some((w, j) => j < i && w.key === key),
  );
  if (repeated >= 0) {
    throw illegalArgument([{ property: `[${repeated}].key`, message: 'must be unique' }]);
  }
  const wanted = written.map(({ key, name, value, type, description }) => ({
    key,
    name: name ?? key,
    value,
    type: type ?? 'string',
    description: description ?? '',
  }));
  return findByDeviceId(deviceId, (known) => tags.set(known, wanted, now()));
}
