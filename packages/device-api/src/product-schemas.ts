import { z } from 'zod';
import { deviceTypeLabel, deviceTypes } from './device-schemas.ts';
import { pageOf } from './list-schemas.ts';
import {
  enumerated,
  MAXIMUM_NAME_LENGTH,
  metadata,
  moment,
  protocolName,
  text,
} from './members.ts';

/** Unknown members are ignored. */
export const productChangesRequest = z.object(
  {
    name: text(MAXIMUM_NAME_LENGTH).optional(),
    deviceType: enumerated(deviceTypes).optional(),
    protocol: protocolName.optional(),
    transport: protocolName.optional(),
    metadata: metadata.optional(),
  },
  'must be a JSON object',
);

export const productSummary = z.strictObject({
  id: z.string(),
  name: z.string(),
  orgId: z.string(),
  deviceType: deviceTypeLabel,
  protocol: z.string(),
  transport: z.string(),
  createTime: moment,
});

/** A query can select fields, so every member of an item is optional. */
export const productListItem = productSummary.partial();

export const productPage = pageOf(productListItem);

export const productRecord = productSummary.extend({
  metadata: z.string().describe('The thing model as JSON text.'),
});

export type ProductRecord = Readonly<z.infer<typeof productRecord>>;
