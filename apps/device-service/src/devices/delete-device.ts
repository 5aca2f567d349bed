import { deviceIdPattern } from '@gatehouse/device-api';
import { ApiError, illegalArgument } from '@gatehouse/errors';
import type { Devices } from './devices.ts';

/** @throws ApiError `not_found`; `illegal_argument` unless the device is `notActive` */
export async function deleteDevice(
  id: string,
  { devices }: { readonly devices: Devices },
): Promise<void> {
  const outcome = deviceIdPattern.test(id) ? await devices.remove(id) : 'missing';
  if (outcome === 'missing') {
    throw new ApiError('not_found');
  }
  if (outcome === 'active') {
    const message = 'must be notActive: undeploy the device before you delete it';
    throw illegalArgument([{ property: 'state', message }]);
  }
}
