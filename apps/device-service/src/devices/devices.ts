import type { PageRequest } from '../query-grammar/page-request.ts';
import type { Device, DeviceSummary, NewDevice } from './device.ts';

export interface DevicePage {
  readonly total: number;
  readonly devices: readonly DeviceSummary[];
}

/**
 * The devices of one organisation. There is no way to ask for another's: whoever holds this object was
 * given it for the caller's organisation, and no operation takes an organisation.
 */
export interface Devices {
  find(id: string): Promise<Device | undefined>;

  /** Newest first, then by id. A page past the end is empty. */
  page(request: PageRequest): Promise<DevicePage>;

  /**
   * Adds the device, and its product where that is new. One atomic step: of many callers with one id one
   * succeeds, and a refused device leaves no product behind.
   *
   * @throws ApiError `duplicate_key`; `illegal_argument` for a product that is new and has no name
   */
  add(device: NewDevice): Promise<Device>;
}

export type DevicesOf = (organizationId: string) => Devices;
