import { z } from 'zod';
import { freeText, MAXIMUM_NAME_LENGTH, moment, text } from './members.ts';

export const MAXIMUM_TAGS = 100;

const MAXIMUM_TYPE_LENGTH = 64;
const MAXIMUM_VALUE_LENGTH = 4096;
const MAXIMUM_DESCRIPTION_LENGTH = 1024;

export const tagRequest = z.object(
  {
    key: z
      .string('must be a string')
      .regex(/^[0-9A-Za-z_.-]{1,64}$/, 'must be 1 to 64 characters of 0-9, A-Z, a-z, _, . and -')
      // A path cannot contain these segments (RFC 3986 §6.2.2.3).
      .refine((key) => key !== '.' && key !== '..', 'must not be . or ..'),
    name: text(MAXIMUM_NAME_LENGTH).nullish().describe('A name for people. Default: the key.'),
    value: freeText(MAXIMUM_VALUE_LENGTH),
    type: text(MAXIMUM_TYPE_LENGTH).nullish().describe('The type of the value. Default: `string`.'),
    description: freeText(MAXIMUM_DESCRIPTION_LENGTH).nullish(),
  },
  'must be a JSON object',
);

export const tagsRequest = z
  .array(tagRequest)
  .min(1, 'must not be empty')
  .max(MAXIMUM_TAGS, `must be at most ${MAXIMUM_TAGS} tags`);

export const tagRecord = z
  .strictObject({
    id: z.string(),
    deviceId: z.string(),
    key: z.string(),
    name: z.string(),
    value: z.string(),
    type: z.string(),
    createTime: moment,
    description: z.string().optional(),
  })
  .readonly();

export type TagRecord = z.infer<typeof tagRecord>;
