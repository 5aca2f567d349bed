import type { DescribedOperation, DescribedRoute } from '@gatehouse/device-api/openapi';
import { pathShape } from '@gatehouse/server';
import { deviceRoutes } from '../routes/device-routes.ts';
import type { Route } from '../routes/route.ts';

/**
 * The built-in routes that the gateway serves. The document is public, so it must not disclose the
 * routes of other services.
 */
export function describedRoutes(served: readonly Route[]): readonly DescribedRoute[] {
  const byRequest = new Map(served.map((route) => [requestsOf(route), route]));
  return deviceRoutes.flatMap((builtIn) => {
    const { method, path } = builtIn;
    // Each built-in route is an operation of the device API, or issues an X-Access-Token.
    const operation = builtIn.operation as DescribedOperation;
    const route = byRequest.get(requestsOf(builtIn));
    if (route === undefined || route.upstream !== builtIn.upstream) {
      return [];
    }
    const { scope, credentials } = route;
    return [{ operation, method, path, scope, credentials }];
  });
}

function requestsOf({ method, path }: Route): string {
  return `${method} ${pathShape(path)}`;
}
