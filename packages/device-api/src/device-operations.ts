import { z } from 'zod';
import {
  batchRequest,
  batchResult,
  deviceChangesRequest,
  deviceListItem,
  deviceRecord,
  idsRequest,
  idsResult,
  newDeviceRequest,
} from './device-schemas.ts';
import { EXAMPLE_TIME } from './members.ts';
import {
  BATCH_BODY_LIMIT_BYTES,
  deviceCollectionPaths,
  devicePaths,
  type OperationEntries,
  withSuffixes,
} from './operation.ts';
import { examplePage, pageOf, queryRequest } from './queries.ts';
import { exampleTag } from './tags.ts';

const summary = {
  id: 'pump-1',
  name: 'Pump 1',
  protocol: 'mqtt',
  transport: 'TCP',
  orgId: 'acme',
  productId: 'pump',
  productName: 'Pump',
  deviceType: { text: 'Direct-connected device', value: 'device' },
  state: { text: 'Online', value: 'online' },
  address: '192.0.2.7:1883',
  onlineTime: EXAMPLE_TIME,
  offlineTime: 0,
  createTime: EXAMPLE_TIME,
  registerTime: EXAMPLE_TIME,
};
const listed = { ...summary, registryTime: EXAMPLE_TIME };
const device = {
  ...summary,
  metadata: '{"events":[],"properties":[],"functions":[],"tags":[]}',
  configuration: { isDebug: 'false' },
  tags: [exampleTag],
};
const changeOfEach = {
  scope: 'device:write',
  methods: ['POST'],
  request: idsRequest,
  reply: idsResult,
  description: 'Send up to 1000 ids. The reply reports the result of each one.',
  example: {
    request: ['pump-1', 'pump-9'],
    result: {
      total: 2,
      succeeded: 1,
      failed: 1,
      items: [
        { index: 0, id: 'pump-1', status: 200, code: 'success' },
        { index: 1, id: 'pump-9', status: 404, code: 'not_found' },
      ],
    },
  },
} as const;

/**
 * `_query`, `_count`, `_deploy` and `_delete` come before the detail, because they would also match
 * `{deviceId}`.
 */
export const deviceOperations = {
  'device.list': {
    scope: 'device:read',
    methods: ['GET'],
    paths: ['/api/device'],
    request: queryRequest,
    reply: z.array(deviceListItem),
    summary: 'List devices',
    description: 'Returns one page. The header `X-Total-Count` has the number of all devices.',
    example: { result: [listed] },
  },
  'device.query': {
    scope: 'device:read',
    methods: ['POST', 'GET'],
    paths: [...withSuffixes(deviceCollectionPaths, '/_query'), '/api/v1/device/_query'],
    request: queryRequest,
    reply: pageOf(deviceListItem).meta({ id: 'DevicePage' }),
    summary: 'Query devices',
    description: 'Returns one page.',
    example: {
      request: { pageSize: 10, orderBy: 'name', terms: [{ column: 'productId', value: 'pump' }] },
      result: examplePage(listed),
    },
  },
  'device.count': {
    scope: 'device:read',
    methods: ['POST', 'GET'],
    paths: withSuffixes(deviceCollectionPaths, '/_count'),
    request: queryRequest,
    reply: z.int().min(0),
    summary: 'Count devices',
    example: { request: { where: 'state = online' }, result: 1 },
  },
  'device.deploy-batch': {
    ...changeOfEach,
    paths: ['/api/v1/device/_deploy'],
    summary: 'Deploy several devices',
  },
  'device.delete-batch': {
    ...changeOfEach,
    paths: ['/api/v1/device/_delete'],
    summary: 'Delete several devices',
  },
  'device.detail': {
    scope: 'device:read',
    methods: ['GET'],
    paths: withSuffixes(devicePaths, '/_detail', '/detail', ''),
    reply: deviceRecord,
    summary: 'Get a device',
    example: { result: device },
  },
  'device.create': {
    scope: 'device:write',
    methods: ['POST'],
    paths: deviceCollectionPaths,
    request: newDeviceRequest,
    reply: deviceRecord,
    summary: 'Create a device',
    description: 'The first device of a product creates the product.',
    example: {
      request: {
        id: 'pump-1',
        name: 'Pump 1',
        productId: 'pump',
        productName: 'Pump',
        configuration: { isDebug: 'false' },
      },
      result: device,
    },
  },
  'device.create-batch': {
    scope: 'device:write',
    methods: ['POST'],
    paths: ['/api/v1/device'],
    request: batchRequest,
    reply: batchResult,
    bodyLimitBytes: BATCH_BODY_LIMIT_BYTES,
    summary: 'Create up to 10,000 devices',
    description:
      'The service checks each device separately. The reply reports the invalid ones, and the others are created.',
    parameters: ['allOrNothing'],
    example: {
      request: [
        { id: 'pump-2', name: 'Pump 2', productId: 'pump' },
        { id: 'pump-1', name: 'Pump 1', productId: 'pump' },
      ],
      result: {
        total: 2,
        created: 1,
        failed: 1,
        items: [
          { index: 0, id: 'pump-2', status: 200, code: 'success' },
          { index: 1, id: 'pump-1', status: 400, code: 'duplicate_key' },
        ],
      },
    },
  },
  'device.update': {
    scope: 'device:write',
    methods: ['PATCH'],
    paths: devicePaths,
    request: deviceChangesRequest,
    reply: deviceRecord,
    summary: 'Change a device',
    description: 'Changes only the members in the body. `null` restores the value of the product.',
    example: {
      request: { name: 'Pump 1, hall 4', configuration: { isDebug: null } },
      result: { ...device, name: 'Pump 1, hall 4', configuration: {} },
    },
  },
  'device.delete': {
    scope: 'device:write',
    methods: ['DELETE'],
    paths: devicePaths,
    summary: 'Delete a device',
    description: 'Only a device in the state `notActive` can be deleted.',
    example: {},
  },
  'device.deploy': {
    scope: 'device:write',
    methods: ['POST'],
    paths: withSuffixes(devicePaths, '/_deploy', '/deploy'),
    reply: deviceRecord,
    summary: 'Deploy a device',
    description: 'The device becomes `offline` or `online`.',
    example: { result: device },
  },
  'device.undeploy': {
    scope: 'device:write',
    methods: ['POST'],
    paths: withSuffixes(devicePaths, '/_unDeploy', '/undeploy'),
    reply: deviceRecord,
    summary: 'Undeploy a device',
    description: 'The device becomes `notActive`.',
    example: { result: { ...device, state: { text: 'Not activated', value: 'notActive' } } },
  },
} as const satisfies OperationEntries;
