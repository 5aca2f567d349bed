import type { GatehouseFetch } from '../call.ts';
import type {
  BatchChange,
  BatchCreation,
  Device,
  DeviceChanges,
  DeviceSummary,
  NewDevice,
  NewTag,
  Product,
  ProductChanges,
  ProductSummary,
  Query,
  Tag,
} from './api-types.ts';
import { createLogOperations, type LogOperations } from './log-operations.ts';
import { type Page, readPages } from './read-pages.ts';
import { createSender } from './sender.ts';

/** The operations of docs/devices.md. Each one throws a GatehouseError if it fails. */
export interface DeviceClient {
  readonly devices: {
    list(): Promise<readonly DeviceSummary[]>;
    /** Yields one page after the other. `pageSize` is the size of each page. */
    query(query?: Query): AsyncGenerator<Page<DeviceSummary>, void>;
    count(query?: Query): Promise<number>;
    get(deviceId: string): Promise<Device>;
    create(device: NewDevice): Promise<Device>;
    /** Up to 10,000 devices. The reply reports each of them. */
    createMany(devices: readonly NewDevice[]): Promise<BatchCreation>;
    update(deviceId: string, changes: DeviceChanges): Promise<Device>;
    delete(deviceId: string): Promise<void>;
    /** Up to 1000 devices. The reply reports each of them. */
    deleteMany(deviceIds: readonly string[]): Promise<BatchChange>;
    deploy(deviceId: string): Promise<Device>;
    undeploy(deviceId: string): Promise<Device>;
    /** Up to 1000 devices. The reply reports each of them. */
    deployMany(deviceIds: readonly string[]): Promise<BatchChange>;
  };
  readonly tags: {
    list(deviceId: string): Promise<readonly Tag[]>;
    set(deviceId: string, tags: readonly NewTag[]): Promise<readonly Tag[]>;
    remove(deviceId: string, tagId: string): Promise<void>;
  };
  readonly logs: LogOperations;
  readonly products: {
    query(query?: Query): AsyncGenerator<Page<ProductSummary>, void>;
    get(productId: string): Promise<Product>;
    update(productId: string, changes: ProductChanges): Promise<Product>;
  };
}

/** @param fetch one of the three functions of this package */
export function createDeviceClient(fetch: GatehouseFetch): DeviceClient {
  const send = createSender(fetch);
  const device = (deviceId: string, rest = '') =>
    `/api/v1/device/${encodeURIComponent(deviceId)}${rest}`;
  const product = (productId: string) => `/device/product/${encodeURIComponent(productId)}`;
  return {
    devices: {
      list: () => send('GET', '/api/device'),
      query: (query) => readPages(send, '/device/instance/_query', query),
      count: (query = {}) => send('POST', '/device/instance/_count', query),
      get: (deviceId) => send('GET', device(deviceId)),
      create: (body) => send('POST', '/device/instance', body),
      createMany: (body) => send('POST', '/api/v1/device', body),
      update: (deviceId, changes) => send('PATCH', device(deviceId), changes),
      delete: (deviceId) => send('DELETE', device(deviceId)),
      deleteMany: (ids) => send('POST', '/api/v1/device/_delete', ids),
      deploy: (deviceId) => send('POST', device(deviceId, '/_deploy')),
      undeploy: (deviceId) => send('POST', device(deviceId, '/_unDeploy')),
      deployMany: (ids) => send('POST', '/api/v1/device/_deploy', ids),
    },
    tags: {
      list: (deviceId) => send('GET', device(deviceId, '/tags')),
      set: (deviceId, tags) => send('PATCH', device(deviceId, '/tag'), tags),
      remove: (deviceId, tagId) =>
        send('DELETE', device(deviceId, `/tag/${encodeURIComponent(tagId)}`)),
    },
    logs: createLogOperations(send, (deviceId) => device(deviceId, '/log')),
    products: {
      query: (query) => readPages(send, '/device/product/_query', query),
      get: (productId) => send('GET', product(productId)),
      update: (productId, changes) => send('PATCH', product(productId), changes),
    },
  };
}
