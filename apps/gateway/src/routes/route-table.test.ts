import { describe, expect, test } from '@jest/globals';
import { deviceRoutes } from './device-routes.ts';
import { createRouteTable } from './route-table.ts';

const table = createRouteTable(deviceRoutes);
const match = (method: string, path: string) =>
  table.match(method, { path, segments: path.slice(1).split('/') });

describe('createRouteTable', () => {
  test.each([
    ['GET', '/api/device', 'device.list'],
    ['HEAD', '/api/device', 'device.list'],
    ['GET', '/api/v1/device/any id/_detail', 'device.detail'],
    ['POST', '/device-instance', 'device.create'],
  ])('matches %s %s as %s', (method, path, operation) => {
    expect(match(method, path)?.route?.operation).toBe(operation);
  });

  test.each([
    '/',
    '/api',
    '/api/device/',
    '/API/device',
    '/api/v1/device//_detail',
    '/api/device/x',
  ])('GW-09 has no route for %s', (path) => {
    expect(match('GET', path)).toBeUndefined();
  });

  test('returns the methods of a known path', () => {
    expect(match('PUT', '/api/device')).toEqual({ route: undefined, allow: ['GET', 'HEAD'] });
    expect(match('GET', '/device-instance')).toEqual({ route: undefined, allow: ['POST'] });
  });
});
