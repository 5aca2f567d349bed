import { deviceService } from '../forwarding/upstream-names.ts';
import type { Route } from './route.ts';

const SECOND = 1000;
const MEBIBYTE = 1024 * 1024;

/** Also for what matches no route: its signature may cover a body. */
export const DEFAULT_BODY_LIMIT_BYTES: number = MEBIBYTE;

const common = {
  credentials: ['signature', 'access-token', 'bearer'],
  upstream: deviceService,
  timeoutMilliseconds: 15 * SECOND,
  bodyLimitBytes: DEFAULT_BODY_LIMIT_BYTES,
} as const;

/** The operations of the specification (Endpoints: Service operations). */
export const deviceRoutes: readonly Route[] = [
  {
    ...common,
    operation: 'device.list',
    method: 'GET',
    path: '/api/device',
    scope: 'device:read',
  },
  {
    ...common,
    operation: 'device.detail',
    method: 'GET',
    path: '/api/v1/device/{deviceId}/_detail',
    scope: 'device:read',
  },
  {
    ...common,
    operation: 'device.create',
    method: 'POST',
    path: '/device-instance',
    scope: 'device:write',
  },
];
