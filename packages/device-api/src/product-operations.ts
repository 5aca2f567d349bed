import { queryRequest } from './list-schemas.ts';
import type { Operation } from './operation.ts';
import { productChangesRequest, productPage, productRecord } from './product-schemas.ts';

/** `_query` comes before the detail, because it would also match `{productId}`. */
export const productOperations = [
  {
    name: 'product.query',
    scope: 'device:read',
    methods: ['POST', 'GET'],
    paths: ['/device/product/_query'],
    request: queryRequest,
    reply: productPage,
  },
  {
    name: 'product.detail',
    scope: 'device:read',
    methods: ['GET'],
    paths: ['/device/product/{productId}'],
    reply: productRecord,
  },
  {
    name: 'product.update',
    scope: 'device:write',
    methods: ['PATCH'],
    paths: ['/device/product/{productId}'],
    request: productChangesRequest,
    reply: productRecord,
  },
] as const satisfies readonly Operation[];
