import { deviceScopes, routes } from '@gatehouse/device-api';
import { expect, test } from '@jest/globals';
import { deviceRoutes } from '../apps/gateway/src/routes/route.ts';

test('the gateway forwards exactly the routes of the device API, by name and scope', () => {
  const served = routes.map(
    ({ method, path, operation }) => `${method} ${path} ${operation.name} ${operation.scope}`,
  );
  const forwarded = deviceRoutes
    .filter(({ upstream }) => upstream !== undefined)
    .map(({ method, path, operation, scope }) => `${method} ${path} ${operation} ${scope}`);
  expect(forwarded).toEqual(served);
});

test('the operations of the device API require every device scope, and no other', () => {
  expect(new Set(routes.map(({ operation }) => operation.scope))).toEqual(new Set(deviceScopes));
});
