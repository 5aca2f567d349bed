import { describe, expect, test } from '@jest/globals';
import { allowedMethods, createRouter } from './router.ts';

const entries = [
  { method: 'GET', path: '/device/{id}', name: 'detail' },
  { method: 'DELETE', path: '/device/{id}', name: 'delete' },
  { method: 'POST', path: '/device/_count', name: 'count' },
  { method: 'GET', path: '/device', name: 'list' },
  { method: 'GET', path: '/{kind}/{other}', name: 'any' },
];
const targetOf = (path: string) => ({ path, segments: path.slice(1).split('/') });

function find(method: string, path: string, plainPathsHideOthers = false) {
  const match = createRouter(entries, { plainPathsHideOthers }).find(method, targetOf(path));
  return match?.entry?.name ?? (match && 'others' in match ? allowedMethods(match.others) : 404);
}

describe('the router', () => {
  test.each([
    ['GET', '/device', 'list'],
    ['HEAD', '/device', 'list'],
    ['GET', '/device/7', 'detail'],
    ['DELETE', '/device/7', 'delete'],
    ['POST', '/device/_count', 'count'],
    ['GET', '/device/_count', 'detail'],
    ['GET', '/product/7', 'any'],
  ])('finds the first entry of %s %s', (method, path, name) => {
    expect(find(method, path)).toBe(name);
  });

  test.each(['/', '/device/', '/DEVICE', '/device//', '/a/b/c', '/device/{}/x', ''])(
    'finds no entry of %j, because case, empty segments and slashes count',
    (path) => {
      expect(find('GET', path)).toBe(404);
    },
  );

  test('names the methods of a path that is known', () => {
    expect(find('PUT', '/device')).toEqual(['GET', 'HEAD']);
    expect(find('PUT', '/device/7')).toEqual(['GET', 'HEAD', 'DELETE']);
  });

  test('can hide a path with a parameter behind one without', () => {
    expect(find('DELETE', '/device/_count', true)).toEqual(['POST']);
    expect(find('DELETE', '/device/7', true)).toBe('delete');
  });
});
