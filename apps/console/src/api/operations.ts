/** All operations of the management API. */
import { clientOperations } from './clients.ts';
import { installationOperations } from './installation.ts';
import type { Operation } from './operation.ts';
import { organizationOperations } from './organizations.ts';
import { userOperations } from './users.ts';

export const operations: readonly Operation[] = [
  ...organizationOperations,
  ...clientOperations,
  ...userOperations,
  ...installationOperations,
];
