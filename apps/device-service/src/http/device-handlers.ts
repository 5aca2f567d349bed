import { BATCH_BODY_LIMIT_BYTES } from '@gatehouse/device-api';
import { changeEachDevice } from '../devices/change-each-device.ts';
import { createDevice } from '../devices/create-device.ts';
import { createDevices } from '../devices/create-devices.ts';
import { deleteDevice } from '../devices/delete-device.ts';
import { deployDevice, undeployDevice } from '../devices/deploy-device.ts';
import { describeDevice, describeSummary } from '../devices/describe-device.ts';
import type { Device } from '../devices/device.ts';
import { deviceSubject } from '../devices/device-subject.ts';
import type { Devices } from '../devices/devices.ts';
import { getDeviceDetail } from '../devices/get-device-detail.ts';
import { updateDevice } from '../devices/update-device.ts';
import type { InventoryOf } from '../inventory/inventory.ts';
import { countHeaders, describeItems, describePage } from '../query-grammar/describe-page.ts';
import type { Handler } from './handle-requests.ts';
import { readJsonBody } from './json-body.ts';
import { readBodyQuery, readParameterQuery } from './query-request.ts';
import { languageOf, pathPart, queryOf } from './request-parts.ts';

export interface DeviceHandlerDependencies {
  readonly inventoryOf: InventoryOf;
  readonly generateId: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Operation 2 returns an array, with the count in a header. */
export function handleListDevices({ inventoryOf }: DeviceHandlerDependencies): Handler {
  return async (request, caller) => {
    const query = readParameterQuery(request, deviceSubject);
    const page = await inventoryOf(caller.organizationId).devices.page(query);
    const language = languageOf(request);
    return {
      result: describeItems(page, query, (device) => describeSummary(device, language)),
      headers: countHeaders(page),
    };
  };
}

/** Operation 6. */
export function handleQueryDevices({ inventoryOf }: DeviceHandlerDependencies): Handler {
  return async (request, caller) => {
    const query = await readBodyQuery(request, deviceSubject);
    const page = await inventoryOf(caller.organizationId).devices.page(query);
    const language = languageOf(request);
    return { result: describePage(page, query, (device) => describeSummary(device, language)) };
  };
}

export function handleCountDevices({ inventoryOf }: DeviceHandlerDependencies): Handler {
  return async (request, caller) => {
    const { condition } = await readBodyQuery(request, deviceSubject);
    return { result: await inventoryOf(caller.organizationId).devices.count(condition) };
  };
}

/** Operation 5. */
export function handleGetDeviceDetail(dependencies: DeviceHandlerDependencies): Handler {
  return answerDevice(dependencies, (id, devices) => getDeviceDetail(id, { devices }));
}

/** Operation 3 returns the stored device. */
export function handleCreateDevice(dependencies: DeviceHandlerDependencies): Handler {
  const { inventoryOf, generateId, now } = dependencies;
  return async (request, caller) => {
    const device = await createDevice(await readJsonBody(request), {
      devices: inventoryOf(caller.organizationId).devices,
      generateId,
      now,
    });
    return { result: describeDevice(device, languageOf(request)) };
  };
}

export function handleCreateDevices(dependencies: DeviceHandlerDependencies): Handler {
  const { inventoryOf, generateId, now } = dependencies;
  return async (request, caller) => {
    const allOrNothing = queryOf(request).get('allOrNothing');
    const result = await createDevices(
      await readJsonBody(request, BATCH_BODY_LIMIT_BYTES),
      allOrNothing,
      { devices: inventoryOf(caller.organizationId).devices, generateId, now },
    );
    return { result };
  };
}

export function handleUpdateDevice(dependencies: DeviceHandlerDependencies): Handler {
  return answerDevice(dependencies, async (id, devices, readBody) =>
    updateDevice(id, await readBody(), { devices }),
  );
}

export function handleDeployDevice(dependencies: DeviceHandlerDependencies): Handler {
  return answerDevice(dependencies, (id, devices) => deployDevice(id, { devices }));
}

export function handleUndeployDevice(dependencies: DeviceHandlerDependencies): Handler {
  return answerDevice(dependencies, (id, devices) => undeployDevice(id, { devices }));
}

export function handleDeployEach(dependencies: DeviceHandlerDependencies): Handler {
  return changeEach(dependencies, deployDevice);
}

export function handleDeleteEach(dependencies: DeviceHandlerDependencies): Handler {
  return changeEach(dependencies, deleteDevice);
}

function changeEach(
  { inventoryOf }: DeviceHandlerDependencies,
  change: (id: string, dependencies: { readonly devices: Devices }) => Promise<unknown>,
): Handler {
  return async (request, caller) => {
    const { devices } = inventoryOf(caller.organizationId);
    const body = await readJsonBody(request);
    return { result: await changeEachDevice(body, (id) => change(id, { devices })) };
  };
}

export function handleDeleteDevice({ inventoryOf }: DeviceHandlerDependencies): Handler {
  return async (request, caller) => {
    const { devices } = inventoryOf(caller.organizationId);
    await deleteDevice(pathPart(request, 'deviceId'), { devices });
    return { result: undefined };
  };
}

/** Runs an operation on a device and returns the resulting device. */
function answerDevice(
  { inventoryOf }: DeviceHandlerDependencies,
  operation: (id: string, devices: Devices, readBody: () => Promise<unknown>) => Promise<Device>,
): Handler {
  return async (request, caller) => {
    const { devices } = inventoryOf(caller.organizationId);
    const id = pathPart(request, 'deviceId');
    const device = await operation(id, devices, () => readJsonBody(request));
    return { result: describeDevice(device, languageOf(request)) };
  };
}
