import { scopeToOrganization } from '../database/organization-scope.ts';
import { createSqlDevices } from '../devices/sql-devices.ts';
import { remember } from '../input/remember.ts';
import { createSqlLogs } from '../logs/sql-logs.ts';
import { createSqlProducts } from '../products/sql-products.ts';
import type { DatabaseEngine, DeviceDatabase } from '../tables/tables.ts';
import { createSqlTags } from '../tags/sql-tags.ts';
import type { InventoryOf } from './inventory.ts';

export interface InventoryDatabase {
  readonly tables: DeviceDatabase;
  readonly engine: DatabaseEngine;
}

const REMEMBERED_ORGANIZATIONS = 1000;

/**
 * Every query of the service goes through an inventory, and so through one organization's scope.
 */
export function createSqlInventoryOf({ tables, engine }: InventoryDatabase): InventoryOf {
  return remember(REMEMBERED_ORGANIZATIONS, (organizationId) => {
    const database = scopeToOrganization(tables, organizationId);
    return {
      devices: createSqlDevices(database, engine),
      products: createSqlProducts(database, engine),
      tags: createSqlTags(database, engine),
      logs: createSqlLogs(database, engine),
    };
  });
}
