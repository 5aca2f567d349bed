/**
 * Owns what a device is, and the operations on devices, one a file.
 *
 *   http/ ─▶ create-device, list-devices, get-device-detail ─▶ Devices (port) ◀─ sql-devices (adapter)
 *                        └▶ describe-device (the record as a caller sees it, with labels)
 *
 * Who is calling and in what syntax is not here: an operation gets the `Devices` of one organisation.
 */

export type DeviceState = 'notActive' | 'offline' | 'online';
export type DeviceType = 'device' | 'childrenDevice' | 'gateway';

/** What a list shows of a device. Times are epoch milliseconds, 0 for never. */
export interface DeviceSummary {
  readonly id: string;
  readonly name: string;
  readonly orgId: string;
  readonly productId: string;
  readonly productName: string;
  readonly protocol: string;
  readonly transport: string;
  readonly deviceType: DeviceType;
  readonly state: DeviceState;
  readonly address: string;
  readonly onlineTime: number;
  readonly offlineTime: number;
  readonly createTime: number;
  readonly registerTime: number;
}

export interface Device extends DeviceSummary {
  /** The thing model, serialised. */
  readonly metadata: string;
  readonly configuration: Readonly<Record<string, string>>;
}

/** What the creator of a device says about it. Everything else is the server's. */
export interface NewDevice {
  readonly id: string;
  readonly name: string;
  readonly productId: string;
  /** Needed when the product does not exist yet; a product that exists keeps its own name. */
  readonly productName: string | undefined;
  readonly configuration: Readonly<Record<string, string>>;
  readonly createTime: number;
}

export const deviceIdPattern = /^[0-9A-Za-z_-]{1,64}$/;
