import { ApiError } from '@gatehouse/api-envelope';
import { type Device, deviceIdPattern } from './device.ts';
import type { Devices } from './devices.ts';

/** @throws ApiError `not_found`, alike for a device that does not exist and one of another organisation */
export function getDeviceDetail(
  id: string,
  { devices }: { readonly devices: Devices },
): Promise<Device> {
  return findOrRefuse(id, devices.find);
}

/** Asks only for ids that a device can have; what is not there is `not_found`. */
export async function findOrRefuse<Found>(
  id: string,
  find: (id: string) => Promise<Found | undefined>,
): Promise<Found> {
  const found = deviceIdPattern.test(id) ? await find(id) : undefined;
  if (found === undefined) {
    throw new ApiError('not_found');
  }
  return found;
}
