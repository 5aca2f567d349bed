import { illegalArgument } from '@gatehouse/api-envelope';
import { z } from 'zod';
import { findOrRefuse } from '../devices/get-device-detail.ts';
import { freeText, parsePayload, text } from '../devices/payload.ts';
import { MAX_TAGS, type Tag, type Tags } from './tag.ts';

const MAX_NAME_LENGTH = 200;
const MAX_TYPE_LENGTH = 64;
const MAX_VALUE_LENGTH = 4096;
const MAX_DESCRIPTION_LENGTH = 1024;

const payload = z.object(
  {
    key: z
      .string('must be a text')
      .regex(/^[0-9A-Za-z_.-]{1,64}$/, 'must be 1 to 64 characters of 0-9, A-Z, a-z, _, . and -'),
    name: text(MAX_NAME_LENGTH).nullish(),
    value: freeText(MAX_VALUE_LENGTH),
    type: text(MAX_TYPE_LENGTH).nullish(),
    description: freeText(MAX_DESCRIPTION_LENGTH).nullish(),
  },
  'must be a JSON object',
);
const several = z
  .array(payload)
  .min(1, 'must not be empty')
  .max(MAX_TAGS, `must be at most ${MAX_TAGS} tags`);

/**
 * Sets one tag, or those of an array; resolves to all tags of the device then.
 *
 * @throws ApiError `not_found`, `illegal_argument`
 */
export async function setTags(
  deviceId: string,
  body: unknown,
  { tags, now }: { readonly tags: Tags; readonly now: () => number },
): Promise<readonly Tag[]> {
  const written = Array.isArray(body) ? parsePayload(several, body) : [parsePayload(payload, body)];
  const repeated = written.findIndex(({ key }, i) =>
    written.some((w, j) => j < i && w.key === key),
  );
  if (repeated >= 0) {
    throw illegalArgument([{ property: `[${repeated}].key`, message: 'is there twice' }]);
  }
  const wanted = written.map(({ key, name, value, type, description }) => ({
    key,
    name: name ?? key,
    value,
    type: type ?? 'string',
    description: description ?? '',
  }));
  return findOrRefuse(deviceId, (known) => tags.set(known, wanted, now()));
}
