import { deviceService } from '../forwarding/upstream-names.ts';
import type { Route } from './route.ts';

const SECOND = 1000;
const MEBIBYTE = 1024 * 1024;

/** Also for what matches no route: its signature may cover a body. */
export const DEFAULT_BODY_LIMIT_BYTES: number = MEBIBYTE;
export const DEFAULT_TIMEOUT_MILLISECONDS: number = 15 * SECOND;

export const issueAccessTokenOperation = 'access-token.issue';

const base = {
  credentials: ['signature', 'access-token', 'bearer'],
  upstream: deviceService,
  timeoutMilliseconds: DEFAULT_TIMEOUT_MILLISECONDS,
  bodyLimitBytes: DEFAULT_BODY_LIMIT_BYTES,
  rateLimit: undefined,
  streaming: false,
  webSocket: false,
} as const;

const read = { ...base, scope: 'device:read' } as const;
const write = { ...base, scope: 'device:write' } as const;
const log = { ...base, scope: 'device:log' } as const;
const report = { ...base, scope: 'device:report' } as const;

/** The specification's operations (Endpoints: Service operations). */
const operations: readonly Route[] = [
  { ...log, operation: 'log.list', method: 'GET', path: '/api/v1/device/{deviceId}/log/_query' },
  { ...read, operation: 'device.list', method: 'GET', path: '/api/device' },
  { ...write, operation: 'device.create', method: 'POST', path: '/device-instance' },
  {
    ...base,
    operation: issueAccessTokenOperation,
    method: 'POST',
    path: '/api/v1/token',
    scope: undefined,
    credentials: ['signature'],
    upstream: undefined,
    bodyLimitBytes: 4096,
  },
  { ...read, operation: 'device.detail', method: 'GET', path: '/api/v1/device/{deviceId}/_detail' },
  { ...read, operation: 'device.query', method: 'POST', path: '/device/instance/_query' },
];

/** What the device service serves besides. */
const extensions: readonly Route[] = [
  { ...read, operation: 'device.query', method: 'GET', path: '/device/instance/_query' },
  { ...read, operation: 'device.count', method: 'POST', path: '/device/instance/_count' },
  { ...read, operation: 'device.count', method: 'GET', path: '/device/instance/_count' },
  { ...write, operation: 'device.create', method: 'POST', path: '/device/instance' },
  {
    ...write,
    operation: 'device.create-many',
    method: 'POST',
    path: '/api/v1/device',
    bodyLimitBytes: 16 * MEBIBYTE,
  },
  { ...write, operation: 'device.change', method: 'PATCH', path: '/api/v1/device/{deviceId}' },
  { ...write, operation: 'device.delete', method: 'DELETE', path: '/api/v1/device/{deviceId}' },
  {
    ...write,
    operation: 'device.deploy',
    method: 'POST',
    path: '/api/v1/device/{deviceId}/_deploy',
  },
  {
    ...write,
    operation: 'device.undeploy',
    method: 'POST',
    path: '/api/v1/device/{deviceId}/_unDeploy',
  },
  { ...log, operation: 'log.query', method: 'POST', path: '/api/v1/device/{deviceId}/log/_query' },
  { ...report, operation: 'log.report', method: 'POST', path: '/api/v1/device/{deviceId}/log' },
  { ...read, operation: 'tag.list', method: 'GET', path: '/api/v1/device/{deviceId}/tags' },
  { ...write, operation: 'tag.save', method: 'PUT', path: '/api/v1/device/{deviceId}/tags' },
  {
    ...write,
    operation: 'tag.delete',
    method: 'DELETE',
    path: '/api/v1/device/{deviceId}/tags/{key}',
  },
  { ...read, operation: 'product.list', method: 'GET', path: '/api/v1/product' },
  { ...read, operation: 'product.detail', method: 'GET', path: '/api/v1/product/{productId}' },
  { ...write, operation: 'product.create', method: 'POST', path: '/api/v1/product' },
  { ...write, operation: 'product.change', method: 'PATCH', path: '/api/v1/product/{productId}' },
  { ...write, operation: 'product.delete', method: 'DELETE', path: '/api/v1/product/{productId}' },
];

/** The built-in table: what the gateway serves without a `ROUTES_FILE`. */
export const deviceRoutes: readonly Route[] = [...operations, ...extensions];
