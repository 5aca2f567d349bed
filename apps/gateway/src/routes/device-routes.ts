import { DEFAULT_BODY_LIMIT_BYTES, routes } from '@gatehouse/device-api';
import type { Scope } from '@gatehouse/identity';
import type { Route } from './route.ts';
import { deviceService } from './upstream-names.ts';

const SECOND = 1000;

export const DEFAULT_TIMEOUT_MILLISECONDS: number = 15 * SECOND;

export const issueAccessTokenOperation = 'access-token.issue';

const shared: Omit<Route, 'operation' | 'method' | 'path' | 'scope' | 'bodyLimitBytes'> = {
  credentials: ['signature', 'access-token', 'bearer'],
  upstream: deviceService,
  timeoutMilliseconds: DEFAULT_TIMEOUT_MILLISECONDS,
  requestHeaders: [],
  rateLimit: undefined,
  streaming: false,
  webSocket: false,
};

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

/** The built-in table: the routes that the gateway serves without a `ROUTES_FILE`. */
export const deviceRoutes: readonly Route[] = [
  issueAccessToken,
  ...routes.map(({ method, path, operation }): Route => {
    // The type rejects a scope that no client can get.
    const scope: Scope = operation.scope;
    const bodyLimitBytes = operation.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES;
    return { ...shared, operation: operation.name, method, path, scope, bodyLimitBytes };
  }),
];
