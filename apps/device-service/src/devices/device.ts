/**
 * Owns what a device is, and the operations on devices, one a file.
 *
 *   http/ ─▶ create-device(s), query-devices, get-device-detail, update-, deploy-, delete-device
 *               └▶ Devices (port) ◀─ sql-devices (adapter): add-devices, device-query, device-counters
 *            describe-device: the record as a caller sees it, with labels
 *
 * Who is calling and in what syntax is not here: an operation gets the `Devices` of one organisation.
 */
import type { DeviceState, DeviceType } from '@gatehouse/device-api';
import type { Tag } from '../tags/tag.ts';

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
  readonly tags: readonly Tag[];
}

/** What a device says in place of its product; null, the product's. */
export interface OwnModel {
  readonly protocol: string | null;
  readonly transport: string | null;
  readonly metadata: string | null;
}

/** What the creator of a device says about it. Everything else is the server's. */
export interface NewDevice extends OwnModel {
  readonly id: string;
  readonly name: string;
  readonly productId: string;
  /** Needed when the product does not exist yet; a product that exists keeps its own name. */
  readonly productName: string | undefined;
  readonly configuration: Readonly<Record<string, string>>;
  readonly createTime: number;
}

/** What is not there stays as it is. */
export interface DeviceChanges extends Partial<OwnModel> {
  readonly name?: string;
  /** Merged into what there is; null removes the key. */
  readonly configuration?: Readonly<Record<string, string | null>>;
}
