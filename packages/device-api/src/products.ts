import { z } from 'zod';
import { deviceTypeLabel } from './device-schemas.ts';
import { deviceTypeLabels } from './labels.ts';
import {
  EXAMPLE_TIME,
  enumerated,
  MAXIMUM_NAME_LENGTH,
  metadata,
  moment,
  protocolName,
  text,
} from './members.ts';
import type { OperationEntries } from './operation.ts';
import { examplePage, pageOf, queryRequest } from './queries.ts';

/** Unknown members are ignored. */
export const productChangesRequest = z
  .object(
    {
      name: text(MAXIMUM_NAME_LENGTH).optional(),
      deviceType: enumerated(deviceTypeLabels).optional(),
      protocol: protocolName.optional(),
      transport: protocolName.optional(),
      metadata: metadata.optional(),
    },
    'must be a JSON object',
  )
  .meta({ id: 'ProductChanges' });

const productSummary = z.strictObject({
  id: z.string(),
  name: z.string(),
  orgId: z.string(),
  deviceType: deviceTypeLabel,
  protocol: z.string(),
  transport: z.string(),
  createTime: moment,
});

/** A query can select fields, so every member of an item is optional. */
const productListItem = productSummary.partial().meta({ id: 'ProductListItem' });

const productRecord = productSummary
  .extend({ metadata: z.string().describe('The thing model as JSON text.') })
  .meta({ id: 'Product' });

export type ProductRecord = Readonly<z.infer<typeof productRecord>>;

const exampleProduct = {
  id: 'pump',
  name: 'Pump',
  orgId: 'acme',
  deviceType: { text: 'Direct-connected device', value: 'device' },
  protocol: 'mqtt',
  transport: 'TCP',
  createTime: EXAMPLE_TIME,
};

/** `_query` comes before the detail, because it would also match `{productId}`. */
export const productOperations = {
  'product.query': {
    scope: 'device:read',
    methods: ['POST', 'GET'],
    paths: ['/device/product/_query'],
    request: queryRequest,
    reply: pageOf(productListItem).meta({ id: 'ProductPage' }),
    summary: 'Query products',
    description: 'Returns one page.',
    example: { request: { where: 'protocol = mqtt' }, result: examplePage(exampleProduct) },
  },
  'product.detail': {
    scope: 'device:read',
    methods: ['GET'],
    paths: ['/device/product/{productId}'],
    reply: productRecord,
    summary: 'Get a product',
    example: { result: { ...exampleProduct, metadata: '' } },
  },
  'product.update': {
    scope: 'device:write',
    methods: ['PATCH'],
    paths: ['/device/product/{productId}'],
    request: productChangesRequest,
    reply: productRecord,
    summary: 'Change a product',
    description: 'A change applies to every device that does not have its own value.',
    example: {
      request: { protocol: 'mqtt', transport: 'TCP' },
      result: { ...exampleProduct, metadata: '' },
    },
  },
} as const satisfies OperationEntries;
