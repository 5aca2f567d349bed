import { createDevice } from './create-device.ts';
import type { DevicesOf } from './devices.ts';

/** The device that the commands printed at the first start find. Its organisation is the bootstrap's. */
export async function createDemoDevice(devicesOf: DevicesOf, now: () => number): Promise<void> {
  const demoDevice = {
    id: 'demo-device-1',
    name: 'Demo device',
    productId: 'demo-product',
    productName: 'Demo product',
  };
  await createDevice(demoDevice, {
    devices: devicesOf('demo'),
    generateId: () => demoDevice.id,
    now,
  });
}
