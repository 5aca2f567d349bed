import type { Route } from './route.ts';
import { deviceService } from './upstream-names.ts';

const SECOND = 1000;
const MEBIBYTE = 1024 * 1024;

/** Also for what matches no route: its signature may cover a body. */
export const DEFAULT_BODY_LIMIT_BYTES: number = MEBIBYTE;
export const DEFAULT_TIMEOUT_MILLISECONDS: number = 15 * SECOND;

export const issueAccessTokenOperation = 'access-token.issue';

const shared: Omit<Route, 'operation' | 'method' | 'path' | 'scope'> = {
  credentials: ['signature', 'access-token', 'bearer'],
  upstream: deviceService,
  timeoutMilliseconds: DEFAULT_TIMEOUT_MILLISECONDS,
  bodyLimitBytes: DEFAULT_BODY_LIMIT_BYTES,
  rateLimit: undefined,
  streaming: false,
  webSocket: false,
};

type Scope = 'device:read' | 'device:write' | 'device:log' | 'device:report';

/** One operation may have several paths: the specification's, and what clients of such platforms call it. */
function route(
  operation: string,
  scope: Scope,
  method: Route['method'],
  paths: readonly string[],
): readonly Route[] {
  return paths.map((path) => ({ ...shared, operation, scope, method, path }));
}

const collections = ['/device/instance', '/device-instance'];
const items = [
  '/api/v1/device/{deviceId}',
  '/device/instance/{deviceId}',
  '/device-instance/{deviceId}',
];

function below(paths: readonly string[], ...suffixes: readonly string[]): readonly string[] {
  return suffixes.flatMap((suffix) => paths.map((path) => path + suffix));
}

const issueAccessToken: Route = {
  ...shared,
  operation: issueAccessTokenOperation,
  method: 'POST',
  path: '/api/v1/token',
  scope: undefined,
  credentials: ['signature'],
  upstream: undefined,
  bodyLimitBytes: 4096,
};

/** The built-in table: what the gateway serves without a `ROUTES_FILE`. A test holds it to the device service's. */
export const deviceRoutes: readonly Route[] = [
  issueAccessToken,
  route('device.list', 'device:read', 'GET', ['/api/device']),
  route('device.query', 'device:read', 'POST', below(collections, '/_query')),
  route('device.query', 'device:read', 'GET', below(collections, '/_query')),
  route('device.count', 'device:read', 'POST', below(collections, '/_count')),
  route('device.count', 'device:read', 'GET', below(collections, '/_count')),
  route('device.detail', 'device:read', 'GET', below(items, '/_detail', '/detail', '')),
  route('device.create', 'device:write', 'POST', collections),
  route('device.create-batch', 'device:write', 'POST', ['/api/v1/device']).map((batch) => ({
    ...batch,
    bodyLimitBytes: 16 * MEBIBYTE,
  })),
  route('device.update', 'device:write', 'PATCH', items),
  route('device.delete', 'device:write', 'DELETE', items),
  route('device.deploy', 'device:write', 'POST', below(items, '/_deploy', '/deploy')),
  route('device.undeploy', 'device:write', 'POST', below(items, '/_unDeploy', '/undeploy')),
  route('tag.list', 'device:read', 'GET', below(items, '/tags')),
  route('tag.set', 'device:write', 'PATCH', below(items, '/tag')),
  route('tag.remove', 'device:write', 'DELETE', below(items, '/tag/{tagId}')),
  route('log.list', 'device:log', 'GET', below(items, '/log/_query')),
  route('log.query', 'device:log', 'POST', below(items, '/log/_query')),
  route('log.report', 'device:report', 'POST', below(items, '/log')),
  route('product.query', 'device:read', 'POST', ['/device/product/_query']),
  route('product.query', 'device:read', 'GET', ['/device/product/_query']),
  route('product.detail', 'device:read', 'GET', ['/device/product/{productId}']),
  route('product.update', 'device:write', 'PATCH', ['/device/product/{productId}']),
].flat();
