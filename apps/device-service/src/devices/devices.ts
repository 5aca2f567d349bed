import type { Condition } from '../query-grammar/condition.ts';
import type { Query } from '../query-grammar/query.ts';
import type { Page } from '../query-grammar/read-page.ts';
import type { Device, DeviceChanges, DeviceSummary, NewDevice } from './device.ts';

/** What became of one device of many. */
export type AddOutcome = 'created' | 'duplicate_key' | 'unknown_product';

/**
 * The devices of one organisation. There is no way to ask for another's: whoever holds this object was
 * given it for the caller's organisation, and no operation takes an organisation.
 */
export interface Devices {
  find(id: string): Promise<Device | undefined>;

  /** Newest first, then by id, unless the query says otherwise. A page past the end is empty. */
  page(query: Query): Promise<Page<DeviceSummary>>;

  /** Exact, whatever it costs: with a condition, in proportion to what it has to look at. */
  count(condition: Condition | undefined): Promise<number>;

  /**
   * Adds the device, and its product where that is new. One atomic step: of many callers with one id one
   * succeeds, and a refused device leaves no product behind.
   *
   * @throws ApiError `duplicate_key`; `illegal_argument` for a product that is new and has no name
   */
  add(device: NewDevice): Promise<Device>;

  /**
   * Adds many in one atomic step; resolves to the outcome of each, in their order. With `allOrNothing`, one
   * that cannot be added keeps all of them out.
   */
  addAll(devices: readonly NewDevice[], allOrNothing: boolean): Promise<readonly AddOutcome[]>;

  /** Resolves to the device as it is then, or undefined where there is none. */
  update(id: string, changes: DeviceChanges): Promise<Device | undefined>;

  /** `notActive` becomes `online` where a connection exists, else `offline`; other states stay. */
  deploy(id: string): Promise<Device | undefined>;

  /** Any state becomes `notActive`. */
  undeploy(id: string): Promise<Device | undefined>;

  /** Removes the device, its tags and, for all to see, its log; `active` where its state forbids that. */
  remove(id: string): Promise<'removed' | 'active' | 'missing'>;
}

export type DevicesOf = (organizationId: string) => Devices;
