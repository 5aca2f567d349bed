import { z } from 'zod';
import {
  configuration,
  configurationChanges,
  labeled,
  MAXIMUM_NAME_LENGTH,
  metadata,
  protocolName,
  text,
} from './members.ts';
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
      .nullish(),
    name: text(MAXIMUM_NAME_LENGTH),
    // The id is a segment of the product's path, which cannot contain these values.
    productId: text(MAXIMUM_PRODUCT_ID_LENGTH).refine(
      (id) => !/[/\\]/.test(id) && id !== '.' && id !== '..',
      'must not contain / or \\, nor be . or ..',
    ),
    productName: text(MAXIMUM_NAME_LENGTH).nullish(),
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
    productId: z.string('must be a string').optional(),
    configuration: configurationChanges.optional(),
    protocol: protocolName.nullable().optional(),
    transport: protocolName.nullable().optional(),
    metadata: metadata.nullable().optional(),
  },
  'must be a JSON object',
);

const shared = {
  id: z.string(),
  name: z.string(),
  protocol: z.string(),
  transport: z.string(),
  orgId: z.string(),
  productId: z.string(),
  productName: z.string(),
  deviceType: labeled(deviceTypes),
  state: labeled(deviceStates),
  address: z.string(),
  /** Times are epoch milliseconds; 0 means never. */
  onlineTime: z.int(),
  offlineTime: z.int(),
  createTime: z.int(),
  registerTime: z.int(),
};

/** Some clients read `registerTime`, others `registryTime`. */
export const deviceSummary = z.strictObject({ ...shared, registryTime: z.int() });

export const deviceRecord = z.strictObject({
  ...shared,
  metadata: z.string(),
  configuration: z.record(z.string(), z.string()).readonly(),
  tags: z.array(tagRecord).readonly(),
});

export type DeviceSummaryRecord = Readonly<z.infer<typeof deviceSummary>>;
export type DeviceRecord = Readonly<z.infer<typeof deviceRecord>>;
