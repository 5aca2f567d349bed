import { illegalArgument } from '@gatehouse/api-envelope';
import { z } from 'zod';
import type { Device, DeviceChanges } from './device.ts';
import type { Devices } from './devices.ts';
import { findOrRefuse } from './get-device-detail.ts';
import {
  configurationChanges,
  MAX_NAME_LENGTH,
  metadata,
  modelName,
  parsePayload,
  text,
} from './payload.ts';
import { withoutUndefined } from './without-undefined.ts';

/** Members that are not here, the server's own among them, are ignored. `null`: the product's again. */
const payload = z.object(
  {
    name: text(MAX_NAME_LENGTH).optional(),
    productId: z.string('must be a text').optional(),
    configuration: configurationChanges.optional(),
    protocol: modelName.nullable().optional(),
    transport: modelName.nullable().optional(),
    metadata: metadata.nullable().optional(),
  },
  'must be a JSON object',
);

/**
 * Changes what the body names and nothing else; the configuration is merged (RFC 7396).
 *
 * @throws ApiError `not_found`, `illegal_argument`
 */
export async function updateDevice(
  id: string,
  body: unknown,
  { devices }: { readonly devices: Devices },
): Promise<Device> {
  const { productId, ...changes } = parsePayload(payload, body);
  const device = await findOrRefuse(id, (known) => devices.find(known));
  if (productId !== undefined && productId !== device.productId) {
    throw illegalArgument([{ property: 'productId', message: 'cannot be changed' }]);
  }
  return findOrRefuse(id, (known) =>
    devices.update(known, withoutUndefined<DeviceChanges>(changes)),
  );
}
