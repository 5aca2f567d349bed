import type { Condition } from '../query-grammar/condition.ts';
import type { Query } from '../query-grammar/query.ts';
import type { Page } from '../query-grammar/read-page.ts';
import type { Device, DeviceChanges, DeviceSummary, NewDevice } from './device.ts';

export type AddOutcome = 'created' | 'duplicate_key' | 'unknown_product';

/**
 * The devices of one organization. No operation takes an organization, so the devices of another
 * are unreachable.
 */
export interface Devices {
  find(id: string): Promise<Device | undefined>;

  /** Newest first, then by id, unless the query has sorts. A page past the end is empty. */
  page(query: Query): Promise<Page<DeviceSummary>>;

  /** Exact. With a condition, the cost grows with the number of devices that it reads. */
  count(condition: Condition | undefined): Promise<number>;

  /**
   * Adds the device, and its product if it is new, in one atomic step. Of several calls with the
   * same id, one succeeds. A rejected device leaves no product.
   *
   * @throws ApiError `duplicate_key`; `illegal_argument` for a new product without a name
   */
  add(device: NewDevice): Promise<Device>;

  /**
   * Adds devices in one atomic step, and resolves to the outcome of each, in order. With
   * `allOrNothing`, one invalid device prevents all.
   */
  addAll(devices: readonly NewDevice[], allOrNothing: boolean): Promise<readonly AddOutcome[]>;

  /** Resolves to the changed device, or undefined if it does not exist. */
  update(id: string, changes: DeviceChanges): Promise<Device | undefined>;

  /** Changes `notActive` to `online` if a connection exists, otherwise to `offline`. */
  deploy(id: string): Promise<Device | undefined>;

  /** Changes every state to `notActive`. */
  undeploy(id: string): Promise<Device | undefined>;

  /**
   * Removes the device and its tags, and makes its log unreachable. `active`: the state forbids it.
   */
  remove(id: string): Promise<'removed' | 'active' | 'missing'>;
}
