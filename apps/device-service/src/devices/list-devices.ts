import { parsePageRequest } from '../query-grammar/page-request.ts';
import type { DevicePage, Devices } from './devices.ts';

/** @throws ApiError `illegal_argument` */
export async function listDevices(
  parameters: URLSearchParams,
  { devices }: { readonly devices: Devices },
): Promise<DevicePage> {
  return devices.page(parsePageRequest(parameters));
}
