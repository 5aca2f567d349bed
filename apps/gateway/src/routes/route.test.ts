import { createRouter } from '@gatehouse/server';
import { describe, expect, test } from '@jest/globals';
import { deviceRoutes, type Entry, findEntry, routeOf } from './route.ts';

const router = createRouter<Entry>(deviceRoutes);
const find = (method: string, path: string) =>
  findEntry(router, method, { path, segments: path.slice(1).split('/') });

describe('the entry of a request', () => {
  test.each([
    ['GET', '/api/device', 'device.list'],
    ['HEAD', '/api/device', 'device.list'],
    ['GET', '/api/v1/device/any id/_detail', 'device.detail'],
    ['POST', '/device-instance', 'device.create'],
  ])('of %s %s is %s', (method, path, operation) => {
    expect(routeOf(find(method, path).match)?.operation).toBe(operation);
  });

  test.each(['/', '/api', '/API/device', '/api/v1/device//_detail', '/api/device/x'])(
    'of %s does not exist',
    (path) => {
      expect(find('GET', path)).toMatchObject({ match: undefined, target: { path } });
    },
  );

  test('is that of the path without a trailing slash, and so is the target', () => {
    const { match, target } = find('GET', '/api/device/');
    expect(routeOf(match)?.operation).toBe('device.list');
    expect(target).toEqual({ path: '/api/device', segments: ['api', 'device'] });
  });
});
