import { deviceOperations } from './device-operations.ts';
import { logOperations } from './logs.ts';
import type { Operation, OperationEntries } from './operation.ts';
import { productOperations } from './products.ts';
import { tagOperations } from './tags.ts';

const entries = { ...deviceOperations, ...tagOperations, ...logOperations, ...productOperations };

export type OperationName = keyof typeof entries;

const group = (tag: Operation['tag'], named: OperationEntries) =>
  Object.entries(named).map(([name, entry]) => ({ ...entry, name: name as OperationName, tag }));

export const operations: readonly Operation<OperationName>[] = [
  ...group('Devices', deviceOperations),
  ...group('Tags', tagOperations),
  ...group('Logs', logOperations),
  ...group('Products', productOperations),
];

/**
 * If two routes match a request, the device service uses the first one, and the gateway uses a path
 * without a parameter. List such a path first, so that both use the same route.
 */
export const routes = operations.flatMap((operation) =>
  operation.methods.flatMap((method) =>
    operation.paths.map((path) => ({ method, path, operation })),
  ),
);
