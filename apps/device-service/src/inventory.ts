import type { DatabaseEngine, DeviceDatabase } from './database/database.ts';
import { scopeToOrganization } from './database/organization-scope.ts';
import type { Devices } from './devices/devices.ts';
import { createSqlDevices } from './devices/sql-devices.ts';
import type { Logs } from './logs/log-record.ts';
import { createSqlLogs } from './logs/sql-logs.ts';
import type { Products } from './products/product.ts';
import { createSqlProducts } from './products/sql-products.ts';
import { createSqlTags } from './tags/sql-tags.ts';
import type { Tags } from './tags/tag.ts';

/** Everything of one organisation, and nothing else: no operation takes an organisation. */
export interface Inventory {
  readonly devices: Devices;
  readonly products: Products;
  readonly tags: Tags;
  readonly logs: Logs;
}

export type InventoryOf = (organizationId: string) => Inventory;

export interface InventoryDatabase {
  readonly tables: DeviceDatabase;
  readonly engine: DatabaseEngine;
}

/** The only way from the database to devices: through one organisation's part of it. */
export function createInventoryOf({ tables, engine }: InventoryDatabase): InventoryOf {
  return (organizationId) => {
    const database = scopeToOrganization(tables, organizationId);
    return {
      devices: createSqlDevices(database, engine),
      products: createSqlProducts(database, engine),
      tags: createSqlTags(database, engine),
      logs: createSqlLogs(database, engine),
    };
  };
}
