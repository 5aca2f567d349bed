/**
 * Owns devices and their operations, one per file.
 *
 *   http/ ─▶ create-device(s), get-device-detail, update-, deploy-, delete-device
 *               └▶ Devices (port) ◀─ sql-devices (adapter): add-devices, read-devices, device-counters
 *            device-subject: what a query can name; describe-device: the record in a reply
 *
 * HTTP and authentication are not here. An operation gets the `Devices` of one organization.
 */
import type { DeviceState, DeviceType } from '@gatehouse/device-api';
import type { Tag } from '../tags/tag.ts';

/** The members in a list. Times are epoch milliseconds; 0 means never. */
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
  /** The thing model as JSON text. */
  readonly metadata: string;
  readonly configuration: Readonly<Record<string, string>>;
  readonly tags: readonly Tag[];
}

/** Members that a device can override. Null: the value of the product applies. */
export interface ModelOverrides {
  readonly protocol: string | null;
  readonly transport: string | null;
  readonly metadata: string | null;
}

/** The members that the client supplies. The server sets the others. */
export interface NewDevice extends ModelOverrides {
  readonly id: string;
  readonly name: string;
  readonly productId: string;
  /** Required if the product does not exist. An existing product keeps its name. */
  readonly productName: string | undefined;
  readonly configuration: Readonly<Record<string, string>>;
  readonly createTime: number;
}

/** Absent members do not change. */
export interface DeviceChanges extends Partial<ModelOverrides> {
  readonly name?: string;
  /** Merged into the existing configuration. Null removes a key. */
  readonly configuration?: Readonly<Record<string, string | null>>;
}
