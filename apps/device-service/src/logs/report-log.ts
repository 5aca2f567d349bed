import { logRecordRequest, logRecordsRequest } from '@gatehouse/device-api';
import { illegalArgument } from '@gatehouse/errors';
import { findByDeviceId } from '../input/find-by-device-id.ts';
import { parsePayload } from '../input/parse-payload.ts';
import type { LogRecord, Logs, NewLogRecord } from './log-record.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/**
 * A device can store records while it is offline, and its clock can be slightly ahead. Other
 * timestamps are rejected instead of corrected, because a corrected time would look measured. A
 * device without a clock omits the timestamp.
 */
export const MAXIMUM_RECORD_AGE_MILLISECONDS = 30 * DAY;
export const MAXIMUM_RECORD_LEAD_MILLISECONDS = 5 * MINUTE;

/**
 * Adds a record or an array of records to the log of a device. Records of type `online` and
 * `offline` also change the state of the device.
 *
 * @throws ApiError `not_found`, `illegal_argument`
 */
export async function reportLog(
  deviceId: string,
  body: unknown,
  { logs, now }: { readonly logs: Logs; readonly now: () => number },
): Promise<readonly LogRecord[]> {
  const written = Array.isArray(body)
    ? parsePayload(logRecordsRequest, body)
    : [parsePayload(logRecordRequest, body)];
  const receivedAt = now();
  const records = written.map(
    ({ type, timestamp, content, messageId, address }): NewLogRecord => ({
      type,
      timestamp: timestamp ?? receivedAt,
      content: content ?? '',
      messageId: messageId ?? '',
      address: type === 'online' ? (address ?? undefined) : undefined,
    }),
  );
  assertPlausible(records, receivedAt, Array.isArray(body));
  return findByDeviceId(deviceId, (known) => logs.append(known, records, receivedAt));
}

function assertPlausible(records: readonly NewLogRecord[], now: number, isArray: boolean): void {
  const earliest = now - MAXIMUM_RECORD_AGE_MILLISECONDS;
  const latest = now + MAXIMUM_RECORD_LEAD_MILLISECONDS;
  const problems = records.flatMap(({ timestamp }, index) =>
    timestamp >= earliest && timestamp <= latest
      ? []
      : [
          {
            property: isArray ? `[${index}].timestamp` : 'timestamp',
            message: `must be from ${earliest} to ${latest}`,
          },
        ],
  );
  if (problems.length > 0) {
    throw illegalArgument(problems.slice(0, 10));
  }
}
