import { deviceChangesRequest } from '@gatehouse/device-api';
import { illegalArgument } from '@gatehouse/errors';
import { findByDeviceId } from '../input/find-by-device-id.ts';
import { parsePayload } from '../input/parse-payload.ts';
import { withoutUndefined } from '../input/without-undefined.ts';
import type { Device, DeviceChanges } from './device.ts';
import type { Devices } from './devices.ts';

/**
 * Changes only the members of the body. Merges the configuration (RFC 7396).
 *
 * @throws ApiError `not_found`, `illegal_argument`
 */
export async function updateDevice(
  id: string,
  body: unknown,
  { devices }: { readonly devices: Devices },
): Promise<Device> {
  const { productId, ...changes } = parsePayload(deviceChangesRequest, body);
  const device = await findByDeviceId(id, (known) => devices.find(known));
  if (productId !== undefined && productId !== device.productId) {
    throw illegalArgument([{ property: 'productId', message: 'cannot be changed' }]);
  }
  return findByDeviceId(id, (known) =>
    devices.update(known, withoutUndefined<DeviceChanges>(changes)),
  );
}
