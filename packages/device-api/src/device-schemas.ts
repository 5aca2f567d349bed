import { z } from 'zod';
import { pageOf } from './list-schemas.ts';
import {
  configuration,
  configurationChanges,
  labeled,
  MAXIMUM_NAME_LENGTH,
  metadata,
  moment,
  momentOrNever,
  protocolName,
  text,
} from './members.ts';
import { reservedDeviceIds, reservedProductIds, reservedRule } from './paths.ts';
import { tagRecord } from './tag-schemas.ts';

export const deviceStates = ['notActive', 'offline', 'online'] as const;
export const deviceTypes = ['device', 'childrenDevice', 'gateway'] as const;

export type DeviceState = (typeof deviceStates)[number];
export type DeviceType = (typeof deviceTypes)[number];

export const deviceIdPattern = /^[0-9A-Za-z_-]{1,64}$/;

const MAXIMUM_PRODUCT_ID_LENGTH = 64;

/** `null` counts as absent. Unknown members, and those that only the server sets, are ignored. */
export const newDeviceRequest = z.object(
  {
    id: z
      .string('must be a string')
      .regex(deviceIdPattern, 'must be 1 to 64 characters of 0-9, A-Z, a-z, _ and -')
      .refine((id) => !reservedDeviceIds.includes(id), reservedRule(reservedDeviceIds))
      .nullish()
      .describe(`Default: a random UUID. Not ${reservedDeviceIds.join(', ')}.`),
    name: text(MAXIMUM_NAME_LENGTH),
    // The id is a segment of the product's path, which cannot contain these values. Some servers
    // read `..;x` as `..`.
    productId: text(MAXIMUM_PRODUCT_ID_LENGTH)
      .refine(
        (id) => !/[/\\]|^\.\.?(?:;|$)/.test(id),
        'must not contain / or \\, nor be . or .., also before a semicolon',
      )
      .refine((id) => !reservedProductIds.includes(id), reservedRule(reservedProductIds))
      .describe('The first device of a product creates the product.'),
    productName: text(MAXIMUM_NAME_LENGTH)
      .nullish()
      .describe('Required with the first device of a product. Ignored afterwards.'),
    configuration: configuration.nullish(),
    protocol: protocolName.nullish(),
    transport: protocolName.nullish(),
    metadata: metadata.nullish(),
  },
  'must be a JSON object',
);

/** `null` restores the value of the product. Unknown members are ignored. */
export const deviceChangesRequest = z.object(
  {
    name: text(MAXIMUM_NAME_LENGTH).optional(),
    productId: z
      .string('must be a string')
      .optional()
      .describe('Only the current value is accepted.'),
    configuration: configurationChanges.optional(),
    protocol: protocolName.nullable().optional(),
    transport: protocolName.nullable().optional(),
    metadata: metadata.nullable().optional(),
  },
  'must be a JSON object',
);

export const deviceStateLabel = labeled(deviceStates);
export const deviceTypeLabel = labeled(deviceTypes);

const shared = {
  id: z.string(),
  name: z.string(),
  protocol: z.string(),
  transport: z.string(),
  orgId: z.string(),
  productId: z.string(),
  productName: z.string(),
  deviceType: deviceTypeLabel,
  state: deviceStateLabel,
  address: z.string().describe('The address of the last connection.'),
  onlineTime: momentOrNever,
  offlineTime: momentOrNever,
  createTime: moment,
  registerTime: momentOrNever,
};

export const deviceSummary = z.strictObject({
  ...shared,
  // Some clients read `registerTime`, others `registryTime`.
  registryTime: z.int().describe('The same as `registerTime`.'),
});

/** A query can select fields, so every member of an item is optional. */
export const deviceListItem = deviceSummary.partial();

export const devicePage = pageOf(deviceListItem);

export const deviceRecord = z.strictObject({
  ...shared,
  metadata: z.string().describe('The thing model as JSON text.'),
  configuration: z.record(z.string(), z.string()).readonly(),
  tags: z.array(tagRecord).readonly(),
});

export type DeviceSummaryRecord = Readonly<z.infer<typeof deviceSummary>>;
export type DeviceRecord = Readonly<z.infer<typeof deviceRecord>>;
