import { newDeviceRequest } from '@gatehouse/device-api';
import type { z } from 'zod';
import { parsePayload } from '../input/parse-payload.ts';
import type { Device, NewDevice } from './device.ts';
import type { Devices } from './devices.ts';

export interface CreateDeviceDependencies {
  readonly devices: Devices;
  readonly generateId: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Creates a device from a request body (specification: "Device creation payload").
 *
 * @throws ApiError `illegal_argument` naming every wrong member, `duplicate_key`
 */
export async function createDevice(
  body: unknown,
  dependencies: CreateDeviceDependencies,
): Promise<Device> {
  return dependencies.devices.add(toNewDevice(parsePayload(newDeviceRequest, body), dependencies));
}

export function toNewDevice(
  payload: z.infer<typeof newDeviceRequest>,
  { generateId, now }: Pick<CreateDeviceDependencies, 'generateId' | 'now'>,
): NewDevice {
  return {
    id: payload.id ?? generateId(),
    name: payload.name,
    productId: payload.productId,
    productName: payload.productName ?? undefined,
    configuration: payload.configuration ?? {},
    protocol: payload.protocol ?? null,
    transport: payload.transport ?? null,
    metadata: payload.metadata ?? null,
    createTime: now(),
  };
}
