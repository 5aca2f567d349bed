import {
  type BatchItemResult,
  type BatchResult,
  MAXIMUM_BATCH_DEVICES,
  newDeviceRequest,
} from '@gatehouse/device-api';
import { ApiError, type IllegalArgument, illegalArgument } from '@gatehouse/errors';
import { toIllegalArgument } from '../input/parse-payload.ts';
import { type CreateDeviceDependencies, toNewDevice } from './create-device.ts';
import type { NewDevice } from './device.ts';
import type { AddOutcome } from './devices.ts';

/** Limits the size of a reply that reports problems. */
const MAXIMUM_REPORTED_PROBLEMS = 100;

type Item = { readonly device: NewDevice } | { readonly problems: readonly IllegalArgument[] };

/**
 * Creates up to 10,000 devices in one atomic step. Reports devices that cannot be created, and
 * creates the others. With `allOrNothing`, one such device rejects the whole batch.
 *
 * @param body an array of devices, or `{"allOrNothing": true, "devices": […]}` for signed requests,
 * which
 *   have no query
 * @throws ApiError `illegal_argument`; `duplicate_key` if existing ids are the only problem
 */
export async function createDevices(
  body: unknown,
  allOrNothingParameter: string | null,
  dependencies: CreateDeviceDependencies,
): Promise<BatchResult> {
  const { payloads, allOrNothing } = readBatch(body, allOrNothingParameter);
  const items = payloads.map((payload) => readItem(payload, dependencies));
  const devices = items.flatMap((item) => ('device' in item ? [item.device] : []));
  if (allOrNothing && devices.length < items.length) {
    throw batchError(items.map((item, index) => describeItem(item, index, undefined)));
  }
  const outcomes = await dependencies.devices.addAll(devices, allOrNothing);
  let position = 0;
  const results = items.map((item, index) =>
    describeItem(item, index, 'device' in item ? outcomes[position++] : undefined),
  );
  const failed = results.filter(({ status }) => status !== 200).length;
  if (allOrNothing && failed > 0) {
    throw batchError(results);
  }
  return { total: items.length, created: items.length - failed, failed, items: results };
}

function readBatch(body: unknown, parameter: string | null) {
  const object = isObject(body) ? body : {};
  const payloads = Array.isArray(body) ? body : object.devices;
  if (
    !Array.isArray(payloads) ||
    payloads.length === 0 ||
    payloads.length > MAXIMUM_BATCH_DEVICES
  ) {
    const message = `must be an array of 1 to ${MAXIMUM_BATCH_DEVICES} devices`;
    throw illegalArgument([{ property: isObject(body) ? 'devices' : 'body', message }]);
  }
  const written = parameter ?? object.allOrNothing ?? false;
  if (!['true', 'false', true, false].includes(written as string | boolean)) {
    throw illegalArgument([{ property: 'allOrNothing', message: 'must be true or false' }]);
  }
  return { payloads: payloads as readonly unknown[], allOrNothing: String(written) === 'true' };
}

function isObject(body: unknown): body is Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}

function readItem(payload: unknown, dependencies: CreateDeviceDependencies): Item {
  const parsed = newDeviceRequest.safeParse(payload);
  return parsed.success
    ? { device: toNewDevice(parsed.data, dependencies) }
    : { problems: parsed.error.issues.map(toIllegalArgument) };
}

function describeItem(item: Item, index: number, outcome: AddOutcome | undefined): BatchItemResult {
  if ('problems' in item) {
    return { index, status: 400, code: 'illegal_argument', problems: item.problems };
  }
  const { id } = item.device;
  switch (outcome) {
    case 'duplicate_key':
      return { index, id, status: 400, code: 'duplicate_key' };
    case 'unknown_product': {
      const message = 'is required for a product that does not exist yet';
      const problems = [{ property: 'productName', message }];
      return { index, id, status: 400, code: 'illegal_argument', problems };
    }
    default:
      return { index, id, status: 200, code: 'success' };
  }
}

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
    },
  );
}
