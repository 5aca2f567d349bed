import type { Device } from './device.ts';
import type { Devices } from './devices.ts';
import { findOrRefuse } from './get-device-detail.ts';

/** @throws ApiError `not_found` */
export function deployDevice(
  id: string,
  { devices }: { readonly devices: Devices },
): Promise<Device> {
  return findOrRefuse(id, devices.deploy);
}

/** @throws ApiError `not_found` */
export function undeployDevice(
  id: string,
  { devices }: { readonly devices: Devices },
): Promise<Device> {
  return findOrRefuse(id, devices.undeploy);
}
