/**
 * Owns products, which many devices share. The first device of a product creates it. A device
 * inherits the members that it does not set.
 *
 *   http/ ─▶ update-product, queries ─▶ Products (port) ◀─ sql-products (adapter)
 *
 * devices/add-devices creates products, in the step that adds the device.
 */
import type { DeviceType } from '@gatehouse/device-api';
import type { LabelLanguage } from '../labels/label.ts';
import { labelDeviceType } from '../labels/label-device-type.ts';
import type { Query } from '../query-grammar/query.ts';
import type { Page } from '../query-grammar/read-page.ts';

export interface Product {
  readonly id: string;
  readonly name: string;
  readonly orgId: string;
  readonly deviceType: DeviceType;
  readonly protocol: string;
  readonly transport: string;
  /** The thing model as JSON text. */
  readonly metadata: string;
  readonly createTime: number;
}

export type ProductSummary = Omit<Product, 'metadata'>;

export type ProductChanges = Partial<
  Pick<Product, 'name' | 'deviceType' | 'protocol' | 'transport' | 'metadata'>
>;

/** The products of one organization. */
export interface Products {
  find(id: string): Promise<Product | undefined>;
  /** Newest first, then by id, unless the query has sorts. */
  page(query: Query): Promise<Page<ProductSummary>>;
  /** Resolves to the changed product, or undefined if it does not exist. */
  update(id: string, changes: ProductChanges): Promise<Product | undefined>;
}

/** The initial values of a product. */
export const NEW_PRODUCT = {
  device_type: 'device',
  protocol: '',
  transport: '',
  metadata: '{"events":[],"properties":[],"functions":[],"tags":[]}',
} as const;

export function describeProduct<Shown extends ProductSummary>(
  product: Shown,
  language: LabelLanguage,
) {
  return { ...product, deviceType: labelDeviceType(product.deviceType, language) };
}
