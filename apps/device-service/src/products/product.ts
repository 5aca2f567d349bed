/**
 * Owns products: what many devices have in common. A product comes into being with its first device and is
 * edited afterwards; a device takes from it what it does not say itself.
 *
 *   http/ ─▶ update-product, queries ─▶ Products (port) ◀─ sql-products (adapter)
 *
 * Making products is not here: devices/add-devices does, in the step that adds the device.
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
  /** The thing model, serialised. */
  readonly metadata: string;
  readonly createTime: number;
}

export type ProductSummary = Omit<Product, 'metadata'>;

export type ProductChanges = Partial<
  Pick<Product, 'name' | 'deviceType' | 'protocol' | 'transport' | 'metadata'>
>;

/** The products of one organisation. */
export interface Products {
  find(id: string): Promise<Product | undefined>;
  /** Newest first, then by id, unless the query says otherwise. */
  page(query: Query): Promise<Page<ProductSummary>>;
  /** Resolves to the product as it is then, or undefined where there is none. */
  update(id: string, changes: ProductChanges): Promise<Product | undefined>;
}

/** What a product is until somebody says otherwise. */
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
