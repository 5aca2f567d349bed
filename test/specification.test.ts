/**
 * docs/specification.md numbers the operations of the platform API. The gateway serves them under
 * these names.
 */
import { describe, expect, test } from '@jest/globals';
import { deviceRoutes } from '../apps/gateway/src/routes/device-routes.ts';
import { readDocument, readDocuments, tableRows } from './documents.ts';
import { readSourceTree } from './source-tree.ts';

const operations = tableRows(readDocument('docs/specification.md'), 'Operations').map(
  ({ cells }) => {
    const [number, operation, call] = cells.map((cell) => cell.replaceAll('`', ''));
    return { number: Number(number), operation, call };
  },
);

describe('docs/specification.md', () => {
  test('numbers six operations', () => {
    expect(operations.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test.each(operations)(
    'names operation $number as the gateway serves it',
    ({ operation, call }) => {
      const served = deviceRoutes.filter(({ method, path }) => `${method} ${path}` === call);
      expect(served.map((route) => route.operation)).toEqual([operation]);
    },
  );

  test('defines every operation number that code and documents mention', () => {
    const numbers = new Set(operations.map(({ number }) => number));
    const unknown = [...readSourceTree(), ...readDocuments()].flatMap(({ path, text }) =>
      [...text.matchAll(/\boperations? (\d+)\b/gi)]
        .filter(([, number]) => !numbers.has(Number(number)))
        .map(([mention]) => `${path}: ${mention}`),
    );
    expect(unknown).toEqual([]);
  });
});
