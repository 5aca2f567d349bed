import { ApiError } from '@gatehouse/api-envelope';
import { type Device, deviceIdPattern } from './device.ts';
import type { Devices } from './devices.ts';

/** @throws ApiError `not_found`, alike for a device that does not exist and one of another organisation */
export async function getDeviceDetail(
  id: string,
  { devices }: { readonly devices: Devices },
): Promise<Device> {
  const device = deviceIdPattern.test(id) ? await devices.find(id) : undefined;
  if (device === undefined) {
    throw new ApiError('not_found');
  }
  return device;
}
