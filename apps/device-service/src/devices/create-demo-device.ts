import { createDevice } from './create-device.ts';
import type { Devices } from './devices.ts';

/** The commands that `npm start` prints return this device. */
export async function createDemoDevice(devices: Devices, now: () => number): Promise<void> {
  const demoDevice = {
    id: 'demo-device-1',
    name: 'Demo device',
    productId: 'demo-product',
    productName: 'Demo product',
  };
  await createDevice(demoDevice, { devices, generateId: () => demoDevice.id, now });
}
