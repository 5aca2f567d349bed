import { z } from 'zod';
import { EXAMPLE_TIME, freeText, MAXIMUM_NAME_LENGTH, moment, text } from './members.ts';
import { devicePaths, type OperationEntries, withSuffixes } from './operation.ts';

export const MAXIMUM_TAGS = 100;

export const tagRequest = z
  .object(
    {
      key: z
        .string('must be a string')
        .regex(/^[0-9A-Za-z_.-]{1,64}$/, 'must be 1 to 64 characters of 0-9, A-Z, a-z, _, . and -')
        // A path cannot contain these segments (RFC 3986 §6.2.2.3).
        .refine((key) => key !== '.' && key !== '..', 'must not be . or ..'),
      name: text(MAXIMUM_NAME_LENGTH).nullish().describe('A name for people. Default: the key.'),
      value: freeText(4096),
      type: text(64).nullish().describe('The type of the value. Default: `string`.'),
      description: freeText(1024).nullish(),
    },
    'must be a JSON object',
  )
  .meta({ id: 'NewTag' });

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
  .readonly()
  .meta({ id: 'Tag' });

export type TagRecord = z.infer<typeof tagRecord>;

export const exampleTag: TagRecord = {
  id: 'pump-1:site',
  deviceId: 'pump-1',
  key: 'site',
  name: 'site',
  value: 'Hall 4',
  type: 'string',
  createTime: EXAMPLE_TIME,
};

export const tagOperations = {
  'tag.list': {
    scope: 'device:read',
    methods: ['GET'],
    paths: withSuffixes(devicePaths, '/tags'),
    reply: z.array(tagRecord),
    summary: 'List the tags of a device',
    example: { result: [exampleTag] },
  },
  'tag.set': {
    scope: 'device:write',
    methods: ['PATCH'],
    paths: withSuffixes(devicePaths, '/tag'),
    request: z.union([tagRequest, tagsRequest]),
    reply: z.array(tagRecord),
    summary: 'Set tags of a device',
    description:
      'Send one tag or an array. An existing key gets the new value. Returns all tags of the device.',
    example: { request: { key: 'site', value: 'Hall 4' }, result: [exampleTag] },
  },
  'tag.remove': {
    scope: 'device:write',
    methods: ['DELETE'],
    paths: withSuffixes(devicePaths, '/tag/{tagId}'),
    summary: 'Remove a tag from a device',
    description: '`tagId` is the id of the tag or its key.',
    example: {},
  },
} as const satisfies OperationEntries;
