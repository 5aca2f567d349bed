/**
 * The device service: the platform's device operations, behind the gateway.
 *
 *   http/ ─▶ devices/ products/ tags/ logs/ ─▶ database/     inventory.ts: all of one organisation; metrics/
 *     └▶ query-grammar/ (parameters, JSON, where text → what is asked for)
 *
 * Deliberately not here: credentials of the outside world, signatures and rate limits are the gateway's.
 * This service believes the gateway's internal token and nothing else.
 */
import type { RequestListener } from 'node:http';
import { type Logger, observeRequests } from '@gatehouse/http-server';
import express from 'express';
import { authenticate } from './http/authenticate.ts';
import {
  handleCountDevices,
  handleCreateDevice,
  handleCreateDevices,
  handleDeleteDevice,
  handleDeployDevice,
  handleGetDeviceDetail,
  handleListDevices,
  handleQueryDevices,
  handleUndeployDevice,
  handleUpdateDevice,
} from './http/device-handlers.ts';
import { handleListLog, handleQueryLog, handleReportLog } from './http/log-handlers.ts';
import { mountRoutes, type Route } from './http/mount-routes.ts';
import {
  handleGetProduct,
  handleQueryProducts,
  handleUpdateProduct,
} from './http/product-handlers.ts';
import { refuseUnknownRoute, replyFailures } from './http/reply-failures.ts';
import { setReplyHeaders } from './http/reply-headers.ts';
import { handleListTags, handleRemoveTag, handleSetTags } from './http/tag-handlers.ts';
import type { IdentifyCaller } from './http/verified-token-cache.ts';
import { withoutBody, withoutInput } from './http/without-input.ts';
import type { InventoryOf } from './inventory.ts';
import type { DeviceServiceMetrics } from './metrics/device-service-metrics.ts';

export interface AppDependencies {
  readonly inventoryOf: InventoryOf;
  readonly identifyCaller: IdentifyCaller;
  readonly generateId: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly logger: Logger;
  readonly metrics: DeviceServiceMetrics;
}

/** Where the collection is, and where one device is: the specification and its clients use all of them. */
const collections = ['/device/instance', '/device-instance'] as const;
const items = [
  '/api/v1/device/:deviceId',
  '/device/instance/:deviceId',
  '/device-instance/:deviceId',
] as const;

type Operation = Pick<Route, 'operation' | 'scope' | 'handle'>;

export function createApp(dependencies: AppDependencies): RequestListener {
  const { identifyCaller, now, logger, metrics } = dependencies;
  const routes = createRoutes(dependencies);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.disable('query parser');
  app.enable('case sensitive routing');
  app.enable('strict routing');

  app.use(setReplyHeaders);
  app.use(authenticate(identifyCaller));
  mountRoutes(app, routes, now);
  app.use(refuseUnknownRoute);
  app.use(replyFailures(now));
  const operations = [...new Set(routes.map((route) => route.operation))];
  return observeRequests(app, logger, { observer: metrics.observeRequests(operations) });
}

/** Every route. Of two that fit, the first is taken: `_query` is no device. */
export function createRoutes(
  dependencies: Pick<AppDependencies, 'inventoryOf' | 'generateId' | 'now'>,
): readonly Route[] {
  const read = operations('device:read', {
    'device.list': handleListDevices(dependencies),
    'device.query': handleQueryDevices(dependencies),
    'device.count': handleCountDevices(dependencies),
    'device.detail': handleGetDeviceDetail(dependencies),
    'tag.list': handleListTags(dependencies),
    'product.query': handleQueryProducts(dependencies),
    'product.detail': handleGetProduct(dependencies),
  });
  const write = operations('device:write', {
    'device.create': handleCreateDevice(dependencies),
    'device.create-batch': handleCreateDevices(dependencies),
    'device.update': handleUpdateDevice(dependencies),
    'device.delete': withoutInput(handleDeleteDevice(dependencies)),
    'device.deploy': withoutBody(handleDeployDevice(dependencies)),
    'device.undeploy': withoutBody(handleUndeployDevice(dependencies)),
    'tag.set': handleSetTags(dependencies),
    'tag.remove': withoutInput(handleRemoveTag(dependencies)),
    'product.update': handleUpdateProduct(dependencies),
  });
  const log = operations('device:log', {
    'log.list': handleListLog(dependencies),
    'log.query': handleQueryLog(dependencies),
  });
  const report = operations('device:report', { 'log.report': handleReportLog(dependencies) });

  return [
    route('GET', ['/api/device'], read['device.list']),
    route('POST', ['/api/v1/device'], write['device.create-batch']),
    route('POST', collections, write['device.create']),
    route('POST', below(collections, '/_query'), read['device.query']),
    route('GET', below(collections, '/_query'), read['device.query']),
    route('POST', below(collections, '/_count'), read['device.count']),
    route('GET', below(collections, '/_count'), read['device.count']),
    route('POST', ['/device/product/_query'], read['product.query']),
    route('GET', ['/device/product/_query'], read['product.query']),
    route('GET', ['/device/product/:productId'], read['product.detail']),
    route('PATCH', ['/device/product/:productId'], write['product.update']),
    route('GET', [...below(items, '/_detail'), ...below(items, '/detail')], read['device.detail']),
    route('GET', items, read['device.detail']),
    route('PATCH', items, write['device.update']),
    route('DELETE', items, write['device.delete']),
    route(
      'POST',
      [...below(items, '/_deploy'), ...below(items, '/deploy')],
      write['device.deploy'],
    ),
    route(
      'POST',
      [...below(items, '/_unDeploy'), ...below(items, '/undeploy')],
      write['device.undeploy'],
    ),
    route('GET', below(items, '/tags'), read['tag.list']),
    route('PATCH', below(items, '/tag'), write['tag.set']),
    route('DELETE', below(items, '/tag/:tagId'), write['tag.remove']),
    route('GET', below(items, '/log/_query'), log['log.list']),
    route('POST', below(items, '/log/_query'), log['log.query']),
    route('POST', below(items, '/log'), report['log.report']),
  ].flat();
}

/** Gives each handler its name and scope. */
function operations<Name extends string>(
  scope: string,
  handlers: Readonly<Record<Name, Route['handle']>>,
): Readonly<Record<Name, Operation>> {
  const named = Object.entries<Route['handle']>(handlers).map(
    ([operation, handle]) => [operation, { operation, scope, handle }] as const,
  );
  return Object.fromEntries(named) as Readonly<Record<Name, Operation>>;
}

function route(
  method: Route['method'],
  paths: readonly string[],
  operation: Operation,
): readonly Route[] {
  return paths.map((path) => ({ method, path, ...operation }));
}

function below(paths: readonly string[], suffix: string): readonly string[] {
  return paths.map((path) => `${path}${suffix}`);
}
