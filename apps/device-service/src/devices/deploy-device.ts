import { findByDeviceId } from '../input/find-by-device-id.ts';
import type { Device } from './device.ts';
import type { Devices } from './devices.ts';

/** @throws ApiError `not_found` */
export function deployDevice(
  id: string,
  { devices }: { readonly devices: Devices },
): Promise<Device> {
  return findByDeviceId(id, devices.deploy);
}

/** @throws ApiError `not_found` */
export function undeployDevice(
  id: string,
  { devices }: { readonly devices: Devices },
): Promise<Device> {
  return findByDeviceId(id, devices.undeploy);
}
