import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { ConfigurationError } from './configuration-error.ts';
import { parseEnvironment } from './environment.ts';
import { operationsPortOf, operationsPortRule, port } from './variable-kinds.ts';

const schema = z
  .object({ APP_PORT: port.default(9000), OPERATIONS_PORT: port.optional() })
  .refine(...operationsPortRule('APP_PORT'));

test('the operations port is 100 above the port of the app', () => {
  expect(operationsPortOf(9000)).toBe(9100);
});

test.each(['65435', '0', '9000'])('port %s leaves room for the operations port', (value) => {
  expect(() => parseEnvironment(schema, { APP_PORT: value })).not.toThrow();
});

test('a port without room for the operations port needs OPERATIONS_PORT', () => {
  const highest = { APP_PORT: '65436' };
  expect(() => parseEnvironment(schema, highest)).toThrow(ConfigurationError);
  expect(() => parseEnvironment(schema, highest)).toThrow(
    'OPERATIONS_PORT: must be set, because APP_PORT + 100 is no port',
  );
  expect(() => parseEnvironment(schema, { ...highest, OPERATIONS_PORT: '9999' })).not.toThrow();
});
