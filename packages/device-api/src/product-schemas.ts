import { z } from 'zod';
import { deviceTypes } from './device-schemas.ts';
import {
  enumerated,
  labeled,
  MAXIMUM_NAME_LENGTH,
  metadata,
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
  deviceType: labeled(deviceTypes),
  protocol: z.string(),
  transport: z.string(),
  /** Epoch milliseconds. */
  createTime: z.int(),
});

export const productRecord = productSummary.extend({ metadata: z.string() });

export type ProductRecord = Readonly<z.infer<typeof productRecord>>;
