import type { InventoryOf } from '../inventory/inventory.ts';
import { describeProduct, type Product, type Products } from '../products/product.ts';
import { productSubject } from '../products/product-subject.ts';
import { getProduct, updateProduct } from '../products/update-product.ts';
import { describePage } from '../query-grammar/describe-page.ts';
import type { Handler } from './handle-requests.ts';
import { readJsonBody } from './json-body.ts';
import { readBodyQuery } from './query-request.ts';
import { languageOf, pathPart } from './request-parts.ts';

export interface ProductHandlerDependencies {
  readonly inventoryOf: InventoryOf;
}

export function handleQueryProducts({ inventoryOf }: ProductHandlerDependencies): Handler {
  return async (request, caller) => {
    const query = await readBodyQuery(request, productSubject);
    const page = await inventoryOf(caller.organizationId).products.page(query);
    const language = languageOf(request);
    return { result: describePage(page, query, (product) => describeProduct(product, language)) };
  };
}

export function handleGetProduct(dependencies: ProductHandlerDependencies): Handler {
  return answerProduct(dependencies, (id, products) => getProduct(id, { products }));
}

export function handleUpdateProduct(dependencies: ProductHandlerDependencies): Handler {
  return answerProduct(dependencies, async (id, products, readBody) =>
    updateProduct(id, await readBody(), { products }),
  );
}

function answerProduct(
  { inventoryOf }: ProductHandlerDependencies,
  operation: (id: string, products: Products, readBody: () => Promise<unknown>) => Promise<Product>,
): Handler {
  return async (request, caller) => {
    const { products } = inventoryOf(caller.organizationId);
    const id = pathPart(request, 'productId');
    const product = await operation(id, products, () => readJsonBody(request));
    return { result: describeProduct(product, languageOf(request)) };
  };
}
