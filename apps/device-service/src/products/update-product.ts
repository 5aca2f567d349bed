import { ApiError } from '@gatehouse/api-envelope';
import { z } from 'zod';
import { deviceTypes } from '../devices/device.ts';
import {
  enumerated,
  MAX_NAME_LENGTH,
  metadata,
  modelName,
  parsePayload,
  text,
} from '../devices/payload.ts';
import { withoutUndefined } from '../devices/without-undefined.ts';
import type { Product, ProductChanges, Products } from './product.ts';

const payload = z.object(
  {
    name: text(MAX_NAME_LENGTH).optional(),
    deviceType: enumerated(deviceTypes).optional(),
    protocol: modelName.optional(),
    transport: modelName.optional(),
    metadata: metadata.optional(),
  },
  'must be a JSON object',
);

/**
 * Changes what the body names, for the product and every device that does not say it itself.
 *
 * @throws ApiError `not_found`, `illegal_argument`
 */
export async function updateProduct(
  id: string,
  body: unknown,
  { products }: { readonly products: Products },
): Promise<Product> {
  const changes = withoutUndefined<ProductChanges>(parsePayload(payload, body));
  return found(isPossibleId(id) ? await products.update(id, changes) : undefined);
}

/** @throws ApiError `not_found` */
export async function getProduct(
  id: string,
  { products }: { readonly products: Products },
): Promise<Product> {
  return found(isPossibleId(id) ? await products.find(id) : undefined);
}

/** PostgreSQL has no NUL in a text, so it cannot even be asked. */
function isPossibleId(id: string): boolean {
  return !id.includes('\0');
}

function found(product: Product | undefined): Product {
  if (product === undefined) {
    throw new ApiError('not_found');
  }
  return product;
}
