import { z } from 'zod';
import { deviceTypeLabels, stateLabels } from './labels.ts';
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
import { reservedDeviceIds, reservedProductIds, reservedRule } from './operation.ts';
import { tagRecord } from './tags.ts';

export const deviceIdPattern = /^[0-9A-Za-z_-]{1,64}$/;

/** `null` counts as absent. Unknown members, and those that only the server sets, are ignored. */
export const newDeviceRequest = z
  .object(
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
      productId: text(64)
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
  )
  .meta({ id: 'NewDevice' });

/** `null` restores the value of the product. Unknown members are ignored. */
export const deviceChangesRequest = z
  .object(
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
  )
  .meta({ id: 'DeviceChanges' });

export const deviceTypeLabel = labeled(deviceTypeLabels).meta({ id: 'DeviceType' });

const shared = {
  id: z.string(),
  name: z.string(),
  protocol: z.string(),
  transport: z.string(),
  orgId: z.string(),
  productId: z.string(),
  productName: z.string(),
  deviceType: deviceTypeLabel,
  state: labeled(stateLabels).meta({ id: 'DeviceState' }),
  address: z.string().describe('The address of the last connection.'),
  onlineTime: momentOrNever,
  offlineTime: momentOrNever,
  createTime: moment,
  registerTime: momentOrNever,
};

const deviceSummary = z.strictObject({
  ...shared,
  // Some clients read `registerTime`, others `registryTime`.
  registryTime: z.int().describe('The same as `registerTime`.'),
});

/** A query can select fields, so every member of an item is optional. */
export const deviceListItem = deviceSummary.partial().meta({ id: 'DeviceListItem' });

export const deviceRecord = z
  .strictObject({
    ...shared,
    metadata: z.string().describe('The thing model as JSON text.'),
    configuration: z.record(z.string(), z.string()).readonly(),
    tags: z.array(tagRecord).readonly(),
  })
  .meta({ id: 'Device' });

export type DeviceSummaryRecord = Readonly<z.infer<typeof deviceSummary>>;
export type DeviceRecord = Readonly<z.infer<typeof deviceRecord>>;

export const MAXIMUM_BATCH_DEVICES = 10_000;

/** A new device. The service checks each one separately and reports the invalid ones. */
const batchDevice = z.unknown().meta({ $ref: '#/components/schemas/NewDevice' });

const devices = z.array(batchDevice).min(1).max(MAXIMUM_BATCH_DEVICES);

/** The object form lets signed requests, which have no query, set `allOrNothing`. */
export const batchRequest = z
  .union([
    devices,
    z.object({
      devices: devices.describe('The devices to create.'),
      allOrNothing: z
        .union([z.boolean(), z.enum(['true', 'false'])])
        .nullish()
        .describe('Whether one invalid device rejects the whole request. Default: `false`.'),
    }),
  ])
  .meta({ id: 'BatchRequest' });

const problem = z
  .strictObject({
    property: z.string().describe('The parameter, header or member: `terms[0].value`.'),
    message: z.string(),
  })
  .readonly()
  .meta({ id: 'Problem' });

const itemResult = z.strictObject({
  index: z.int().describe('Position in the request.'),
  problems: z.array(problem).readonly().optional(),
});

const counts = z.strictObject({ total: z.int(), failed: z.int() });

const batchItemResult = itemResult
  .extend({
    id: z
      .string()
      .optional()
      .describe('As sent, or generated. Absent if the request has no valid id.'),
    status: z.literal([200, 400]),
    code: z.enum(['success', 'duplicate_key', 'illegal_argument']),
  })
  .readonly()
  .meta({ id: 'BatchItemResult' });

export const batchResult = counts
  .extend({ created: z.int(), items: z.array(batchItemResult).readonly() })
  .readonly()
  .meta({ id: 'BatchResult' });

export type BatchItemResult = z.infer<typeof batchItemResult>;
export type BatchResult = z.infer<typeof batchResult>;

export const MAXIMUM_BATCH_IDS = 1000;

/** Devices to deploy or delete. An id that no device can have is reported as missing. */
export const idsRequest = z
  .array(z.string('must be a string'))
  .min(1, 'must have at least one id')
  .max(MAXIMUM_BATCH_IDS, `must have at most ${MAXIMUM_BATCH_IDS} ids`);

const idResult = itemResult
  .extend({
    id: z.string(),
    status: z.literal([200, 400, 404]),
    code: z.enum(['success', 'illegal_argument', 'not_found']),
  })
  .readonly()
  .meta({ id: 'IdResult' });

export const idsResult = counts
  .extend({ succeeded: z.int(), items: z.array(idResult).readonly() })
  .readonly()
  .meta({ id: 'IdsResult' });

export type IdResult = z.infer<typeof idResult>;
export type IdsResult = z.infer<typeof idsResult>;
