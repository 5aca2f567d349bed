import { deviceOperations } from './device-operations.ts';
import { logOperations } from './log-operations.ts';
import type { Operation, OperationMethod } from './operation.ts';
import { productOperations } from './product-operations.ts';
import { tagOperations } from './tag-operations.ts';

const all = [...deviceOperations, ...tagOperations, ...logOperations, ...productOperations];

export type OperationName = (typeof all)[number]['name'];

export const operations: readonly Operation<OperationName>[] = all;

export interface OperationRoute {
  readonly method: OperationMethod;
  readonly path: string;
  readonly operation: Operation<OperationName>;
}

/**
 * If two routes match a request, the device service uses the first one, and the gateway uses a path
 * without a parameter. List such a path first, so that both use the same route.
 */
export const routes: readonly OperationRoute[] = operations.flatMap((operation) =>
  operation.methods.flatMap((method) =>
    operation.paths.map((path) => ({ method, path, operation })),
  ),
);
