/**
 * The device service: the operations of the device API, behind the gateway.
 *
 *   http/ ─▶ devices/ products/ tags/ logs/ (ports and SQL adapters) ─▶ database/ ─▶ tables/
 *     └▶ query-grammar/                          inventory/: the ports of one organization
 *
 * The gateway owns external credentials, signatures and rate limits. This service trusts only the
 * gateway's internal token.
 */
import type { RequestListener } from 'node:http';
import { operations } from '@gatehouse/device-api';
import { type Logger, observeRequests, type Tracer } from '@gatehouse/server';
import {
  handleCountDevices,
  handleCreateDevice,
  handleCreateDevices,
  handleDeleteDevice,
  handleDeleteEach,
  handleDeployDevice,
  handleDeployEach,
  handleGetDeviceDetail,
  handleListDevices,
  handleQueryDevices,
  handleUndeployDevice,
  handleUpdateDevice,
} from './http/device-handlers.ts';
import { type Handlers, handleRequests } from './http/handle-requests.ts';
import { handleListLog, handleQueryLog, handleReportLog } from './http/log-handlers.ts';
import {
  handleGetProduct,
  handleQueryProducts,
  handleUpdateProduct,
} from './http/product-handlers.ts';
import { handleListTags, handleRemoveTag, handleSetTags } from './http/tag-handlers.ts';
import type { IdentifyCaller } from './http/verified-token-cache.ts';
import { withoutBody, withoutInput } from './http/without-input.ts';
import type { InventoryOf } from './inventory/inventory.ts';
import type { DeviceServiceMetrics } from './metrics/device-service-metrics.ts';

export interface AppDependencies {
  readonly inventoryOf: InventoryOf;
  readonly identifyCaller: IdentifyCaller;
  readonly generateId: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly logger: Logger;
  readonly metrics: DeviceServiceMetrics;
  /** Undefined while tracing is off. */
  readonly tracer?: Tracer | undefined;
}

export function createApp(dependencies: AppDependencies): RequestListener {
  const { identifyCaller, now, logger, metrics, tracer } = dependencies;
  const app = handleRequests({ handlers: createHandlers(dependencies), identifyCaller, now });
  const names = operations.map(({ name }) => name);
  return observeRequests(app, logger, {
    observer: metrics.observeRequests(names),
    leavesHeaderToListener: true,
    tracer,
  });
}

/** Every operation with its handler. @gatehouse/device-api lists the methods, paths and scopes. */
function createHandlers(
  dependencies: Pick<AppDependencies, 'inventoryOf' | 'generateId' | 'now'>,
): Handlers {
  return {
    'device.list': handleListDevices(dependencies),
    'device.query': handleQueryDevices(dependencies),
    'device.count': handleCountDevices(dependencies),
    'device.deploy-batch': handleDeployEach(dependencies),
    'device.delete-batch': handleDeleteEach(dependencies),
    'device.detail': handleGetDeviceDetail(dependencies),
    'device.create': handleCreateDevice(dependencies),
    'device.create-batch': handleCreateDevices(dependencies),
    'device.update': handleUpdateDevice(dependencies),
    'device.delete': withoutInput(handleDeleteDevice(dependencies)),
    'device.deploy': withoutBody(handleDeployDevice(dependencies)),
    'device.undeploy': withoutBody(handleUndeployDevice(dependencies)),
    'tag.list': handleListTags(dependencies),
    'tag.set': handleSetTags(dependencies),
    'tag.remove': withoutInput(handleRemoveTag(dependencies)),
    'log.list': handleListLog(dependencies),
    'log.query': handleQueryLog(dependencies),
    'log.report': handleReportLog(dependencies),
    'product.query': handleQueryProducts(dependencies),
    'product.detail': handleGetProduct(dependencies),
    'product.update': handleUpdateProduct(dependencies),
  };
}
