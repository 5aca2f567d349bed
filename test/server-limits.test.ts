/** docs/operations/reference.md states exactly the limits of the servers. */
import { serverLimits } from '@gatehouse/server';
import { expect, test } from '@jest/globals';
import { readConfiguration } from '../apps/device-service/src/config.ts';
import { firstName, readDocument, tableRows } from './documents.ts';

const units: Readonly<Record<string, number>> = { s: 1000, KiB: 1024 };

test('docs/operations/reference.md has every limit of the servers with its value', () => {
  const stated = tableRows(readDocument('docs/operations/reference.md'), 'Server limits').map(
    (row) => {
      const [, amount, unit] = /^(\d+)(?: (\w+))?$/.exec(row.cells[1] ?? '') ?? [];
      return [firstName(row), Number(amount) * (unit === undefined ? 1 : (units[unit] ?? NaN))];
    },
  );
  const { maximumConnections } = readConfiguration({});
  expect(Object.fromEntries(stated)).toEqual({
    ...serverLimits,
    MAXIMUM_CONNECTIONS: maximumConnections,
  });
});
