import { productChangesRequest } from '@gatehouse/device-api';
import { ApiError } from '@gatehouse/errors';
import { parsePayload } from '../input/parse-payload.ts';
import { withoutUndefined } from '../input/without-undefined.ts';
import type { Product, ProductChanges, Products } from './product.ts';

/**
 * Changes the members of the body, for the product and the devices that inherit them.
 *
 * @throws ApiError `not_found`, `illegal_argument`
 */
export async function updateProduct(
  id: string,
  body: unknown,
  { products }: { readonly products: Products },
): Promise<Product> {
  const changes = withoutUndefined<ProductChanges>(parsePayload(productChangesRequest, body));
  return found(isPossibleId(id) ? await products.update(id, changes) : undefined);
}

/** @throws ApiError `not_found` */
export async function getProduct(
  id: string,
  { products }: { readonly products: Products },
): Promise<Product> {
  return found(isPossibleId(id) ? await products.find(id) : undefined);
}

/** PostgreSQL rejects NUL in text. */
function isPossibleId(id: string): boolean {
  return !id.includes('\0');
}

function found(product: Product | undefined): Product {
  if (product === undefined) {
    throw new ApiError('not_found');
  }
  return product;
}
