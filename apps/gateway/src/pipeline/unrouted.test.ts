import { expect, test } from '@jest/globals';
import { deviceRoutes } from '../routes/device-routes.ts';
import { allowHeader } from './unrouted.ts';

test('Every path accepts the methods of its routes and OPTIONS.', () => {
  const routes = deviceRoutes.filter(({ path }) => path === '/device/instance/_query');
  expect(allowHeader(routes)).toBe('POST, GET, HEAD, OPTIONS');
});
