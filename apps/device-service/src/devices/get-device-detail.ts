import { findByDeviceId } from '../input/find-by-device-id.ts';
import type { Device } from './device.ts';
import type { Devices } from './devices.ts';

/** @throws ApiError `not_found`, also for a device of another organization */
export function getDeviceDetail(
  id: string,
  { devices }: { readonly devices: Devices },
): Promise<Device> {
  return findByDeviceId(id, devices.find);
}
