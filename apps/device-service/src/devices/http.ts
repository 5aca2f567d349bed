/**
 * Owns devices.
 *
 *   http (handlers, replies) ─▶ rules (create, change, delete) ─▶ add, rows (SQL)
 *                           └─▶ pages (SQL of lists and counts)
 *
 * Authentication is not here. A handler gets the database of the caller's organization.
 */
import {
  BATCH_BODY_LIMIT_BYTES,
  type DeviceRecord,
  deviceChangesRequest,
  deviceTypeLabels,
  stateLabels,
} from '@gatehouse/device-api';
import {
  type ApiRequest,
  type Handler,
  labelerOf,
  languageOf,
  queryOf,
  readJsonBody,
  readQuery,
} from '../http/handler.ts';

import { assertFound, parsePayload } from '../input.ts';
import { replyWithItems, replyWithPage } from '../query/pages.ts';
import { parseQuery } from '../query/query.ts';
import { countDevices, deviceSubject, readDevices } from './pages.ts';
import { changeDevice, type DeviceRow, deploy, findDevice, tagsOf, undeploy } from './rows.ts';
import {
  changeEachDevice,
  createDevice,
  createDevices,
  deleteDevice,
  deleteEach,
  deployEach,
} from './rules.ts';

export const deviceHandlers = {
  /** Operation 2 returns an array, with the count in a header. */
  'device.list': async (request: ApiRequest) => {
    const query = parseQuery(queryOf(request.message), deviceSubject);
    return replyWithItems(await readDevices(request.database, query, languageOf(request)));
  },
  /** Operation 6. */
  'device.query': async (request: ApiRequest) => {
    const query = parseQuery(await readQuery(request), deviceSubject);
    return replyWithPage(await readDevices(request.database, query, languageOf(request)), query);
  },
  'device.count': async (request: ApiRequest) => {
    const { condition } = parseQuery(await readQuery(request), deviceSubject);
    return { result: await countDevices(request.database, condition) };
  },
  /** Operation 5. */
  'device.detail': answer(({ database }, id) => findDevice(database, id)),
  /** Operation 3 returns the stored device. */
  'device.create': answer(async ({ database, message, now }) =>
    createDevice(database, await readJsonBody(message), now),
  ),
  'device.create-batch': async ({ database, message, now }: ApiRequest) => {
    const body = await readJsonBody(message, BATCH_BODY_LIMIT_BYTES);
    const allOrNothing = queryOf(message).get('allOrNothing');
    return { result: await createDevices(database, body, allOrNothing, now) };
  },
  'device.update': answer(async ({ database, message }, id) =>
    changeDevice(database, id, parsePayload(deviceChangesRequest, await readJsonBody(message))),
  ),
  'device.delete': async ({ database, path }: ApiRequest) => {
    await deleteDevice(database, path.deviceId);
    return { result: undefined };
  },
  'device.deploy': answer(({ database }, id) => deploy(database, id)),
  'device.undeploy': answer(({ database }, id) => undeploy(database, id)),
  'device.deploy-batch': changeEach(deployEach),
  'device.delete-batch': changeEach(deleteEach),
};

/** Runs an operation on a device and returns the resulting device. */
function answer(
  operation: (request: ApiRequest, id: string) => Promise<DeviceRow | undefined>,
): Handler {
  return async (request) => {
    const row = await operation(request, request.path.deviceId);
    return { result: describeDevice(assertFound(row), request) };
  };
}

function changeEach(change: Parameters<typeof changeEachDevice>[2]): Handler {
  return async ({ database, message }) => ({
    result: await changeEachDevice(database, await readJsonBody(message), change),
  });
}

/** The complete record (specification: "Device detail record"). */
function describeDevice(row: DeviceRow, request: ApiRequest): DeviceRecord {
  const label = labelerOf(request);
  return {
    id: row.id,
    name: row.name,
    protocol: row.protocol,
    transport: row.transport,
    orgId: request.database.organizationId,
    productId: row.product_id,
    productName: row.product_name,
    deviceType: label(deviceTypeLabels, row.device_type),
    state: label(stateLabels, row.state),
    address: row.address,
    onlineTime: row.online_time,
    offlineTime: row.offline_time,
    createTime: row.create_time,
    registerTime: row.register_time,
    metadata: row.metadata,
    configuration: JSON.parse(row.configuration) as Record<string, string>,
    tags: tagsOf(row),
  };
}
