import type { Devices } from '../devices/devices.ts';
import type { Logs } from '../logs/log-record.ts';
import type { Products } from '../products/product.ts';
import type { Tags } from '../tags/tag.ts';

/**
 * The records of one organization. Its operations take no organization, so no other is reachable.
 */
export interface Inventory {
  readonly devices: Devices;
  readonly products: Products;
  readonly tags: Tags;
  readonly logs: Logs;
}

export type InventoryOf = (organizationId: string) => Inventory;
