import { illegalArgument } from '@gatehouse/api-envelope';
import { logRecordRequest, logRecordsRequest } from '@gatehouse/device-api';
import { findByDeviceId } from '../input/find-by-device-id.ts';
import { parsePayload } from '../input/parse-payload.ts';
import type { LogRecord, Logs, NewLogRecord } from './log-record.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/**
 * A device may have kept records while it was offline, and its clock may be a little fast. What lies outside
 * is refused, not bent: a time that nobody measured must not look like one. A device without a clock leaves
 * the timestamp out.
 */
export const MAX_RECORD_AGE_MS = 30 * DAY;
export const MAX_RECORD_LEAD_MS = 5 * MINUTE;

/**
 * Adds one record, or those of an array, to a device's log. Records of type `online` and `offline` also move
 * the state of the device, by the time they happened.
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
  const earliest = now - MAX_RECORD_AGE_MS;
  const latest = now + MAX_RECORD_LEAD_MS;
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
