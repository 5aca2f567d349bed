import { z } from 'zod';
import { batchRequest, batchResult, idsRequest, idsResult } from './batch-schemas.ts';
import {
  deviceChangesRequest,
  deviceListItem,
  devicePage,
  deviceRecord,
  newDeviceRequest,
} from './device-schemas.ts';
import { queryRequest } from './list-schemas.ts';
import { BATCH_BODY_LIMIT_BYTES, type Operation } from './operation.ts';
import { deviceCollectionPaths, devicePaths, withSuffixes } from './paths.ts';

/**
 * `_query`, `_count`, `_deploy` and `_delete` come before the detail, because they would also match
 * `{deviceId}`.
 */
export const deviceOperations = [
  {
    name: 'device.list',
    scope: 'device:read',
    methods: ['GET'],
    paths: ['/api/device'],
    request: queryRequest,
    reply: z.array(deviceListItem),
  },
  {
    name: 'device.query',
    scope: 'device:read',
    methods: ['POST', 'GET'],
    paths: [...withSuffixes(deviceCollectionPaths, '/_query'), '/api/v1/device/_query'],
    request: queryRequest,
    reply: devicePage,
  },
  {
    name: 'device.count',
    scope: 'device:read',
    methods: ['POST', 'GET'],
    paths: withSuffixes(deviceCollectionPaths, '/_count'),
    request: queryRequest,
    reply: z.int().min(0),
  },
  {
    name: 'device.deploy-batch',
    scope: 'device:write',
    methods: ['POST'],
    paths: ['/api/v1/device/_deploy'],
    request: idsRequest,
    reply: idsResult,
  },
  {
    name: 'device.delete-batch',
    scope: 'device:write',
    methods: ['POST'],
    paths: ['/api/v1/device/_delete'],
    request: idsRequest,
    reply: idsResult,
  },
  {
    name: 'device.detail',
    scope: 'device:read',
    methods: ['GET'],
    paths: withSuffixes(devicePaths, '/_detail', '/detail', ''),
    reply: deviceRecord,
  },
  {
    name: 'device.create',
    scope: 'device:write',
    methods: ['POST'],
    paths: deviceCollectionPaths,
    request: newDeviceRequest,
    reply: deviceRecord,
  },
  {
    name: 'device.create-batch',
    scope: 'device:write',
    methods: ['POST'],
    paths: ['/api/v1/device'],
    request: batchRequest,
    reply: batchResult,
    bodyLimitBytes: BATCH_BODY_LIMIT_BYTES,
  },
  {
    name: 'device.update',
    scope: 'device:write',
    methods: ['PATCH'],
    paths: devicePaths,
    request: deviceChangesRequest,
    reply: deviceRecord,
  },
  {
    name: 'device.delete',
    scope: 'device:write',
    methods: ['DELETE'],
    paths: devicePaths,
  },
  {
    name: 'device.deploy',
    scope: 'device:write',
    methods: ['POST'],
    paths: withSuffixes(devicePaths, '/_deploy', '/deploy'),
    reply: deviceRecord,
  },
  {
    name: 'device.undeploy',
    scope: 'device:write',
    methods: ['POST'],
    paths: withSuffixes(devicePaths, '/_unDeploy', '/undeploy'),
    reply: deviceRecord,
  },
] as const satisfies readonly Operation[];
