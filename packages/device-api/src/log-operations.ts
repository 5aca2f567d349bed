import { z } from 'zod';
import { queryRequest } from './list-schemas.ts';
import {
  logListItem,
  logPage,
  logRecord,
  logRecordRequest,
  logRecordsRequest,
} from './log-schemas.ts';
import type { Operation } from './operation.ts';
import { devicePaths, withSuffixes } from './paths.ts';

export const logOperations = [
  {
    name: 'log.list',
    scope: 'device:log',
    methods: ['GET'],
    paths: withSuffixes(devicePaths, '/log/_query'),
    request: queryRequest,
    reply: z.array(logListItem),
  },
  {
    name: 'log.query',
    scope: 'device:log',
    methods: ['POST'],
    paths: withSuffixes(devicePaths, '/log/_query'),
    request: queryRequest,
    reply: logPage,
  },
  {
    name: 'log.report',
    scope: 'device:report',
    methods: ['POST'],
    paths: withSuffixes(devicePaths, '/log'),
    request: z.union([logRecordRequest, logRecordsRequest]),
    reply: z.union([logRecord, z.array(logRecord)]),
  },
] as const satisfies readonly Operation[];
