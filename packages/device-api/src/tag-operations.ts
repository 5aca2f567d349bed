import { z } from 'zod';
import type { Operation } from './operation.ts';
import { devicePaths, withSuffixes } from './paths.ts';
import { tagRecord, tagRequest, tagsRequest } from './tag-schemas.ts';

export const tagOperations = [
  {
    name: 'tag.list',
    scope: 'device:read',
    methods: ['GET'],
    paths: withSuffixes(devicePaths, '/tags'),
    reply: z.array(tagRecord),
  },
  {
    name: 'tag.set',
    scope: 'device:write',
    methods: ['PATCH'],
    paths: withSuffixes(devicePaths, '/tag'),
    request: z.union([tagRequest, tagsRequest]),
    reply: z.array(tagRecord),
  },
  {
    name: 'tag.remove',
    scope: 'device:write',
    methods: ['DELETE'],
    paths: withSuffixes(devicePaths, '/tag/{tagId}'),
  },
] as const satisfies readonly Operation[];
