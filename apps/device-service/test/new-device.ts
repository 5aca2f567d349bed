import type { NewDevice } from '../src/devices/add.ts';

/** A device of the product `p` for the functions that store one. */
export const newDevice = (id: string, changes: Partial<NewDevice> = {}): NewDevice => ({
  id,
  name: id,
  productId: 'p',
  productName: 'P',
  configuration: {},
  protocol: null,
  transport: null,
  metadata: null,
  createTime: 1,
  ...changes,
});
