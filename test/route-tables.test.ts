import { expect, it } from '@jest/globals';
import { createRoutes } from '../apps/device-service/src/app.ts';
import { deviceRoutes } from '../apps/gateway/src/routes/device-routes.ts';

/** Apps don't import apps, so that each has its own table: this is what keeps the two equal. */
it('the gateway forwards exactly what the device service serves, by name and scope', () => {
  const served = createRoutes({} as Parameters<typeof createRoutes>[0]).map(
    ({ method, path, operation, scope }) =>
      `${method} ${path.replace(/:(\w+)/g, '{$1}')} ${operation} ${scope}`,
  );
  const forwarded = deviceRoutes
    .filter(({ upstream }) => upstream !== undefined)
    .map(({ method, path, operation, scope }) => `${method} ${path} ${operation} ${scope}`);
  expect(forwarded.toSorted()).toEqual(served.toSorted());
});
