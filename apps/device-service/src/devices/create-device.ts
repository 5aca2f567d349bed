import { z } from 'zod';
import { type Device, deviceIdPattern, type NewDevice } from './device.ts';
import type { Devices } from './devices.ts';
import {
  configuration,
  MAX_NAME_LENGTH,
  MAX_PRODUCT_ID_LENGTH,
  metadata,
  modelName,
  parsePayload,
  text,
} from './payload.ts';

export interface CreateDeviceDependencies {
  readonly devices: Devices;
  readonly generateId: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** `null` counts as left out. Members that are not here, the server's own among them, are ignored. */
export const devicePayload = z.object(
  {
    id: z
      .string('must be a text')
      .regex(deviceIdPattern, 'must be 1 to 64 characters of 0-9, A-Z, a-z, _ and -')
      .nullish(),
    name: text(MAX_NAME_LENGTH),
    // It is a segment of the product's address: what no path can name would be out of reach for ever.
    productId: text(MAX_PRODUCT_ID_LENGTH).refine(
      (id) => !/[/\\]/.test(id) && id !== '.' && id !== '..',
      'must not contain / or \\, nor be . or ..',
    ),
    productName: text(MAX_NAME_LENGTH).nullish(),
    configuration: configuration.nullish(),
    protocol: modelName.nullish(),
    transport: modelName.nullish(),
    metadata: metadata.nullish(),
  },
  'must be a JSON object',
);

/**
 * Creates a device from a request body (specification: "Device creation payload").
 *
 * @throws ApiError `illegal_argument` naming every wrong member, `duplicate_key`
 */
export async function createDevice(
  body: unknown,
  dependencies: CreateDeviceDependencies,
): Promise<Device> {
  return dependencies.devices.add(toNewDevice(parsePayload(devicePayload, body), dependencies));
}

export function toNewDevice(
  payload: z.infer<typeof devicePayload>,
  { generateId, now }: Pick<CreateDeviceDependencies, 'generateId' | 'now'>,
): NewDevice {
  return {
    id: payload.id ?? generateId(),
    name: payload.name,
    productId: payload.productId,
    productName: payload.productName ?? undefined,
    configuration: payload.configuration ?? {},
    protocol: payload.protocol ?? null,
    transport: payload.transport ?? null,
    metadata: payload.metadata ?? null,
    createTime: now(),
  };
}
