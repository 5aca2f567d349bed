import type {
  BatchChange,
  BatchCreation,
  Device,
  DeviceChanges,
  DeviceSummary,
  LogRecord,
  NewDevice,
  NewLogRecord,
  NewTag,
  Product,
  ProductChanges,
  ProductSummary,
  Query,
  Tag,
} from './api-types.ts';
import type { GatehouseFetch } from './call.ts';
import { GatehouseError, readResult } from './gatehouse-error.ts';

/** The limits of the operation `log.report`. */
const MAXIMUM_RECORDS = 1000;
const MAXIMUM_CHARACTERS = 256 * 1024;

export interface Page<Item> {
  readonly pageIndex: number;
  readonly pageSize: number;
  readonly total: number;
  /** Present if counting stopped early: there are at least `total` records. */
  readonly totalIsExact?: false;
  readonly data: readonly Item[];
}

/** The operations of docs/devices.md. Each one throws a GatehouseError if it fails. */
export type DeviceClient = ReturnType<typeof createDeviceClient>;
export type LogOperations = DeviceClient['logs'];

/** @param fetch one of the three functions of this package */
export function createDeviceClient(fetch: GatehouseFetch) {
  const send: Send = (method, path, body) => sendJson(fetch, method, path, body);
  const device = (deviceId: string, rest = '') =>
    `/api/v1/device/${encodeURIComponent(deviceId)}${rest}`;
  const log = (deviceId: string, rest = '') => device(deviceId, `/log${rest}`);
  const product = (productId: string) => `/device/product/${encodeURIComponent(productId)}`;
  return {
    devices: {
      list: () => send<readonly DeviceSummary[]>('GET', '/api/device'),
      /** Yields one page after the other. `pageSize` is the size of each page. */
      query: (query?: Query) => readPages<DeviceSummary>(send, '/device/instance/_query', query),
      count: (query: Query = {}) => send<number>('POST', '/device/instance/_count', query),
      get: (deviceId: string) => send<Device>('GET', device(deviceId)),
      create: (body: NewDevice) => send<Device>('POST', '/device/instance', body),
      /** Up to 10,000 devices. The reply reports each of them. */
      createMany: (devices: readonly NewDevice[]) =>
        send<BatchCreation>('POST', '/api/v1/device', devices),
      update: (deviceId: string, changes: DeviceChanges) =>
        send<Device>('PATCH', device(deviceId), changes),
      delete: (deviceId: string) => send<void>('DELETE', device(deviceId)),
      /** Up to 1000 devices. The reply reports each of them. */
      deleteMany: (deviceIds: readonly string[]) =>
        send<BatchChange>('POST', '/api/v1/device/_delete', deviceIds),
      deploy: (deviceId: string) => send<Device>('POST', device(deviceId, '/_deploy')),
      undeploy: (deviceId: string) => send<Device>('POST', device(deviceId, '/_unDeploy')),
      /** Up to 1000 devices. The reply reports each of them. */
      deployMany: (deviceIds: readonly string[]) =>
        send<BatchChange>('POST', '/api/v1/device/_deploy', deviceIds),
    },
    tags: {
      list: (deviceId: string) => send<readonly Tag[]>('GET', device(deviceId, '/tags')),
      set: (deviceId: string, tags: readonly NewTag[]) =>
        send<readonly Tag[]>('PATCH', device(deviceId, '/tag'), tags),
      remove: (deviceId: string, tagId: string) =>
        send<void>('DELETE', device(deviceId, `/tag/${encodeURIComponent(tagId)}`)),
    },
    logs: {
      list: (deviceId: string) => send<readonly LogRecord[]>('GET', log(deviceId, '/_query')),
      query: (deviceId: string, query?: Query) =>
        readPages<LogRecord>(send, log(deviceId, '/_query'), query),
      /**
       * Sends any number of records in batches, one after the other. If a batch fails, `onStored`
       * has received the records that the gateway confirmed, and `hint` their number.
       */
      report: (
        deviceId: string,
        records: Iterable<NewLogRecord> | AsyncIterable<NewLogRecord>,
        onStored?: (stored: readonly LogRecord[]) => void,
      ) => reportInBatches(records, (batch) => send('POST', log(deviceId), batch), onStored),
    },
    products: {
      query: (query?: Query) => readPages<ProductSummary>(send, '/device/product/_query', query),
      get: (productId: string) => send<Product>('GET', product(productId)),
      update: (productId: string, changes: ProductChanges) =>
        send<Product>('PATCH', product(productId), changes),
    },
  };
}

/** Sends a JSON body and resolves to the result, whose type the device API defines. */
type Send = <Result>(method: string, path: string, body?: unknown) => Promise<Result>;

async function sendJson<Result>(
  fetch: GatehouseFetch,
  method: string,
  path: string,
  body: unknown,
): Promise<Result> {
  const content =
    body === undefined
      ? {}
      : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  return readResult<Result>(await fetch(path, { method, ...content }));
}

/** Ends after the first page that is not full. The last page can be empty. */
async function* readPages<Item>(
  send: Send,
  path: string,
  query: Query = {},
): AsyncGenerator<Page<Item>, void> {
  let isLast = false;
  for (let pageIndex = Number(query.pageIndex ?? 0); !isLast; pageIndex += 1) {
    const page = await send<Page<Item>>('POST', path, { ...query, pageIndex });
    const end = (page.pageIndex + 1) * page.pageSize;
    isLast = page.data.length < page.pageSize || (page.totalIsExact !== false && end >= page.total);
    yield page;
  }
}

async function reportInBatches(
  records: Iterable<NewLogRecord> | AsyncIterable<NewLogRecord>,
  sendBatch: (batch: readonly NewLogRecord[]) => Promise<readonly LogRecord[]>,
  onStored?: (stored: readonly LogRecord[]) => void,
): Promise<number> {
  let count = 0;
  for await (const batch of batchesOf(records)) {
    const stored = await sendBatch(batch).catch((error: unknown) => {
      throw withCount(error, count);
    });
    count += stored.length;
    onStored?.(stored);
  }
  return count;
}

/** A character has up to 3 bytes in UTF-8, so that no batch exceeds the limit of 1 MiB. */
async function* batchesOf(
  records: Iterable<NewLogRecord> | AsyncIterable<NewLogRecord>,
): AsyncGenerator<readonly NewLogRecord[]> {
  let batch: NewLogRecord[] = [];
  let characters = 0;
  for await (const record of records) {
    const length = JSON.stringify(record).length;
    const isFull = batch.length === MAXIMUM_RECORDS || characters + length > MAXIMUM_CHARACTERS;
    if (isFull && batch.length > 0) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(record);
    characters += length;
  }
  if (batch.length > 0) {
    yield batch;
  }
}

function withCount(error: unknown, count: number): unknown {
  if (!(error instanceof GatehouseError)) {
    return error;
  }
  const stored = `The gateway confirmed the first ${count} records.`;
  const hint = error.hint === undefined ? stored : `${error.hint} ${stored}`;
  return new GatehouseError(error.code, error.message, { ...error, hint, cause: error });
}
