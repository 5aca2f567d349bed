import type { DescribedOperation } from './described-route.ts';

export interface OperationExample {
  readonly request?: unknown;
  /** The member `result` of the reply. */
  readonly result?: unknown;
}

const EXAMPLE_TIME = 1_795_168_479_665;

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
const tag = {
  id: 'pump-1:site',
  deviceId: 'pump-1',
  key: 'site',
  name: 'site',
  value: 'Hall 4',
  type: 'string',
  createTime: EXAMPLE_TIME,
};
const device = {
  ...summary,
  metadata: '{"events":[],"properties":[],"functions":[],"tags":[]}',
  configuration: { isDebug: 'false' },
  tags: [tag],
};
const record = {
  id: '019a0c1e-7d1c-7c3a-9f0e-2f5b8f6f1a2b',
  deviceId: 'pump-1',
  productId: 'pump',
  type: { text: 'Report property', value: 'reportProperty' },
  createTime: EXAMPLE_TIME,
  timestamp: EXAMPLE_TIME,
  content: '{"pressure":4.2}',
  messageId: 'm-1',
};
const product = {
  id: 'pump',
  name: 'Pump',
  orgId: 'acme',
  deviceType: { text: 'Direct-connected device', value: 'device' },
  protocol: 'mqtt',
  transport: 'TCP',
  createTime: EXAMPLE_TIME,
};
const listed = { ...summary, registryTime: EXAMPLE_TIME };
const query = { pageSize: 10, orderBy: 'name', terms: [{ column: 'productId', value: 'pump' }] };
const deployed = {
  total: 2,
  succeeded: 1,
  failed: 1,
  items: [
    { index: 0, id: 'pump-1', status: 200, code: 'success' },
    { index: 1, id: 'pump-9', status: 404, code: 'not_found' },
  ],
};
const pageOf = (item: object) => ({ pageIndex: 0, pageSize: 10, total: 1, data: [item] });

/** The compiler reports an operation without an example. A test validates each one. */
export const operationExamples: Readonly<Record<DescribedOperation, OperationExample>> = {
  'device.list': { result: [listed] },
  'device.query': { request: query, result: pageOf(listed) },
  'device.count': { request: { where: 'state = online' }, result: 1 },
  'device.deploy-batch': { request: ['pump-1', 'pump-9'], result: deployed },
  'device.delete-batch': { request: ['pump-1', 'pump-9'], result: deployed },
  'device.detail': { result: device },
  'device.create': {
    request: {
      id: 'pump-1',
      name: 'Pump 1',
      productId: 'pump',
      productName: 'Pump',
      configuration: { isDebug: 'false' },
    },
    result: device,
  },
  'device.create-batch': {
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
  'device.update': {
    request: { name: 'Pump 1, hall 4', configuration: { isDebug: null } },
    result: { ...device, name: 'Pump 1, hall 4', configuration: {} },
  },
  'device.delete': {},
  'device.deploy': { result: device },
  'device.undeploy': {
    result: { ...device, state: { text: 'Not activated', value: 'notActive' } },
  },
  'tag.list': { result: [tag] },
  'tag.set': { request: { key: 'site', value: 'Hall 4' }, result: [tag] },
  'tag.remove': {},
  'log.list': { result: [record] },
  'log.query': {
    request: { terms: [{ column: 'type', value: 'reportProperty' }] },
    result: pageOf(record),
  },
  'log.report': {
    request: { type: 'reportProperty', content: { pressure: 4.2 }, messageId: 'm-1' },
    result: record,
  },
  'product.query': { request: { where: 'protocol = mqtt' }, result: pageOf(product) },
  'product.detail': { result: { ...product, metadata: '' } },
  'product.update': {
    request: { protocol: 'mqtt', transport: 'TCP' },
    result: { ...product, metadata: '' },
  },
  'access-token.issue': { request: { expires: 3600 }, result: 'l9Zc0wq3bT7yN4uXkP2sVg' },
};
