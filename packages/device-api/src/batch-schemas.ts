import { z } from 'zod';

export const MAXIMUM_BATCH_DEVICES = 10_000;

/** A new device. The service checks each one separately and reports the invalid ones. */
export const batchDevice = z.unknown();

const devices = z.array(batchDevice).min(1).max(MAXIMUM_BATCH_DEVICES);

/** The object form lets signed requests, which have no query, set `allOrNothing`. */
export const batchRequest = z.union([
  devices,
  z.object({
    devices: devices.describe('The devices to create.'),
    allOrNothing: z
      .union([z.boolean(), z.enum(['true', 'false'])])
      .nullish()
      .describe('Whether one invalid device rejects the whole request. Default: `false`.'),
  }),
]);

export const problem = z
  .strictObject({
    property: z.string().describe('The parameter, header or member: `terms[0].value`.'),
    message: z.string(),
  })
  .readonly();

export const batchItemResult = z
  .strictObject({
    index: z.int().describe('Position in the request.'),
    id: z
      .string()
      .optional()
      .describe('As sent, or generated. Absent if the request has no valid id.'),
    status: z.union([z.literal(200), z.literal(400)]),
    code: z.enum(['success', 'duplicate_key', 'illegal_argument']),
    problems: z.array(problem).readonly().optional(),
  })
  .readonly();

export const batchResult = z
  .strictObject({
    total: z.int(),
    created: z.int(),
    failed: z.int(),
    items: z.array(batchItemResult).readonly(),
  })
  .readonly();

export type BatchItemResult = z.infer<typeof batchItemResult>;
export type BatchResult = z.infer<typeof batchResult>;

export const MAXIMUM_BATCH_IDS = 1000;

/** Devices to deploy or delete. An id that no device can have is reported as missing. */
export const idsRequest = z
  .array(z.string('must be a string'))
  .min(1, 'must have at least one id')
  .max(MAXIMUM_BATCH_IDS, `must have at most ${MAXIMUM_BATCH_IDS} ids`);

export const idResult = z
  .strictObject({
    index: z.int().describe('Position in the request.'),
    id: z.string(),
    status: z.union([z.literal(200), z.literal(400), z.literal(404), z.literal(503)]),
    code: z.enum(['success', 'illegal_argument', 'not_found', 'service_unavailable']),
    problems: z.array(problem).readonly().optional(),
  })
  .readonly();

export const idsResult = z
  .strictObject({
    total: z.int(),
    succeeded: z.int(),
    failed: z.int(),
    items: z.array(idResult).readonly(),
  })
  .readonly();

export type IdResult = z.infer<typeof idResult>;
export type IdsResult = z.infer<typeof idsResult>;
