import {
  type BatchItemResult,
  type BatchResult,
  deviceIdPattern,
  type IdResult,
  type IdsResult,
  idsRequest,
  MAXIMUM_BATCH_DEVICES,
  newDeviceRequest,
} from '@gatehouse/device-api';
import { ApiError, type IllegalArgument, illegalArgument } from '@gatehouse/errors';
import type { z } from 'zod';
import type { OrganizationDatabase } from '../database/organization-database.ts';
import { inTransaction } from '../database/queries.ts';
import {
  assertFound,
  MAXIMUM_REPORTED_PROBLEMS,
  parsePayload,
  toIllegalArgument,
} from '../input.ts';
import { type AddOutcome, addDevice, insertDevices, type NewDevice } from './add.ts';
import { type DeviceRow, deployDevices, findDevice, lockStates, removeDevices } from './rows.ts';

const nameMissing: IllegalArgument = {
  property: 'productName',
  message: 'is required for a product that does not exist yet',
};

/**
 * Creates a device from a request body (specification: "Device creation payload").
 *
 * @throws ApiError `illegal_argument` naming every wrong member, `duplicate_key`
 */
export async function createDevice(
  database: OrganizationDatabase,
  body: unknown,
  now: number,
): Promise<DeviceRow> {
  const added = await addDevice(database, toNewDevice(parsePayload(newDeviceRequest, body), now));
  if (added === 'unknown_product') {
    throw illegalArgument([nameMissing]);
  }
  if (added === 'duplicate_key') {
    throw new ApiError('duplicate_key');
  }
  return added;
}

function toNewDevice(payload: z.infer<typeof newDeviceRequest>, now: number): NewDevice {
  return { ...payload, id: payload.id ?? crypto.randomUUID(), createTime: now };
}

type Item = { readonly device: NewDevice } | { readonly problems: readonly IllegalArgument[] };

/**
 * Creates up to 10,000 devices in one atomic step. Reports devices that cannot be created, and
 * creates the others. With `allOrNothing`, one such device rejects the whole batch.
 *
 * @param body an array of devices, or `{"allOrNothing": true, "devices": […]}` for signed requests,
 * which have no query
 * @throws ApiError `illegal_argument`; `duplicate_key` if existing ids are the only problem
 */
export function createDevices(
  database: OrganizationDatabase,
  body: unknown,
  allOrNothingParameter: string | null,
  now: number,
): Promise<BatchResult> {
  const { payloads, allOrNothing } = readBatch(body, allOrNothingParameter);
  const items = payloads.map((payload): Item => {
    const parsed = newDeviceRequest.safeParse(payload);
    return parsed.success
      ? { device: toNewDevice(parsed.data, now) }
      : { problems: parsed.error.issues.map((issue) => toIllegalArgument(issue)) };
  });
  const devices = items.flatMap((item) => ('device' in item ? [item.device] : []));
  const isRejected = allOrNothing && devices.length < items.length;
  return inTransaction(database, async (transaction) => {
    const added = isRejected ? [] : await insertDevices(transaction, devices);
    let position = 0;
    const results = items.map(
      (item, index): BatchItemResult =>
        'problems' in item
          ? { index, status: 400, code: 'illegal_argument', problems: item.problems }
          : { index, id: item.device.id, ...outcomes[added[position++] ?? 'created'] },
    );
    const failed = results.filter(({ status }) => status !== 200).length;
    if (allOrNothing && failed > 0) {
      throw batchError(results);
    }
    return { total: items.length, created: items.length - failed, failed, items: results };
  });
}

function readBatch(body: unknown, parameter: string | null) {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  const object = isObject ? (body as Readonly<Record<string, unknown>>) : {};
  const payloads: unknown = isObject ? object.devices : body;
  const size = Array.isArray(payloads) ? payloads.length : 0;
  if (size === 0 || size > MAXIMUM_BATCH_DEVICES) {
    const message = `must be an array of 1 to ${MAXIMUM_BATCH_DEVICES} devices`;
    throw illegalArgument([{ property: isObject ? 'devices' : 'body', message }]);
  }
  const written = parameter ?? object.allOrNothing ?? false;
  if (!['true', 'false', true, false].includes(written as string | boolean)) {
    throw illegalArgument([{ property: 'allOrNothing', message: 'must be true or false' }]);
  }
  return { payloads: payloads as readonly unknown[], allOrNothing: String(written) === 'true' };
}

const outcomes = {
  created: { status: 200, code: 'success' },
  duplicate_key: { status: 400, code: 'duplicate_key' },
  unknown_product: { status: 400, code: 'illegal_argument', problems: [nameMissing] },
} as const satisfies Record<AddOutcome, Omit<BatchItemResult, 'index'>>;

/** Names invalid members as `[3].name`. */
function batchError(results: readonly BatchItemResult[]): ApiError {
  const wrong = results.filter(({ status }) => status !== 200);
  const problems = wrong.flatMap(({ index, code, problems: ofItem = [] }) =>
    code === 'duplicate_key'
      ? [{ property: `[${index}].id`, message: 'already exists' }]
      : ofItem.map(({ property, message }) => ({ property: `[${index}].${property}`, message })),
  );
  return new ApiError(
    wrong.every(({ code }) => code === 'duplicate_key') ? 'duplicate_key' : 'illegal_argument',
    {
      message: `Nothing was created, because ${wrong.length} of ${results.length} devices are invalid.`,
      result: problems.slice(0, MAXIMUM_REPORTED_PROBLEMS),
      reason: 'illegal_argument',
    },
  );
}

const stillActive: IllegalArgument = {
  property: 'state',
  message: 'must be notActive: undeploy the device before you delete it',
};

/** @throws ApiError `not_found`; `illegal_argument` unless the device is `notActive` */
export async function deleteDevice(database: OrganizationDatabase, id: string): Promise<void> {
  if ((await removeDevices(database, [id])) === 0) {
    assertFound(await findDevice(database, id));
    throw illegalArgument([stillActive]);
  }
}

type Outcome = Pick<IdResult, 'status' | 'code' | 'problems'>;

const changed: Outcome = { status: 200, code: 'success' };
const missing: Outcome = { status: 404, code: 'not_found' };

interface BatchChange {
  /** One statement, because it locks the counts of the organization until the commit. */
  readonly change: (transaction: OrganizationDatabase, ids: readonly string[]) => Promise<unknown>;
  /** @param states of the existing devices before the change */
  readonly outcomeOf: (id: string, states: Map<string, string>) => Outcome;
}

export const deployEach: BatchChange = {
  change: deployDevices,
  outcomeOf: (id, states) => (states.has(id) ? changed : missing),
};

export const deleteEach: BatchChange = {
  change: removeDevices,
  outcomeOf(id, states) {
    const state = states.get(id);
    if (state !== undefined && state !== 'notActive') {
      return { status: 400, code: 'illegal_argument', problems: [stillActive] };
    }
    // An id can occur twice.
    return states.delete(id) ? changed : missing;
  },
};

/**
 * Changes each of the devices whose ids are in the body, in one atomic step, and reports those that
 * it cannot change.
 *
 * @throws ApiError `illegal_argument` if the body is not a list of ids
 */
export function changeEachDevice(
  database: OrganizationDatabase,
  body: unknown,
  { change, outcomeOf }: BatchChange,
): Promise<IdsResult> {
  const ids = parsePayload(idsRequest, body);
  const possible = ids.filter((id) => deviceIdPattern.test(id));
  return inTransaction(database, async (transaction) => {
    const states = await lockStates(transaction, possible);
    if (states.size > 0) {
      await change(transaction, [...states.keys()]);
    }
    const items = ids.map((id, index) => ({ index, id, ...outcomeOf(id, states) }));
    const succeeded = items.filter(({ status }) => status === 200).length;
    return { total: items.length, succeeded, failed: items.length - succeeded, items };
  });
}
