import { logRecordRequest, logRecordsRequest } from '@gatehouse/device-api';
import { illegalArgument } from '@gatehouse/errors';
import { parsePayload } from '../input.ts';

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
 * Reads a record or an array of records.
 *
 * @throws ApiError `illegal_argument`
 */
export function readReport(body: unknown, now: number) {
  const written = Array.isArray(body)
    ? parsePayload(logRecordsRequest, body)
    : [parsePayload(logRecordRequest, body)];
  const records = written.map(({ type, timestamp, content, messageId, address }) => ({
    type,
    timestamp: timestamp ?? now,
    content: content ?? '',
    message_id: messageId ?? '',
    address: type === 'online' ? (address ?? undefined) : undefined,
  }));
  assertPlausible(records, now, Array.isArray(body));
  return records;
}

/** An empty `message_id` means none. Only `online` has an address, that of the connection. */
export type NewLogRecord = ReturnType<typeof readReport>[number];

function assertPlausible(
  records: readonly { readonly timestamp: number }[],
  now: number,
  isArray: boolean,
): void {
  const earliest = now - MAXIMUM_RECORD_AGE_MILLISECONDS;
  const latest = now + MAXIMUM_RECORD_LEAD_MILLISECONDS;
  const message = `must be from ${earliest} to ${latest}`;
  const problems = records.flatMap(({ timestamp }, index) => {
    const property = isArray ? `[${index}].timestamp` : 'timestamp';
    return timestamp >= earliest && timestamp <= latest ? [] : [{ property, message }];
  });
  if (problems.length > 0) {
    throw illegalArgument(problems.slice(0, 10));
  }
}

/**
 * Returns the last `online` and the last `offline` of a report, in order. A timestamp in the future
 * counts as now, because otherwise a fast clock would block later transitions.
 */
export function transitionsOf(records: readonly NewLogRecord[], now: number) {
  const happened = records
    .flatMap(({ type, timestamp, address }) =>
      type === 'online' || type === 'offline'
        ? [{ to: type, time: Math.min(timestamp, now), address }]
        : [],
    )
    .sort((one, other) => one.time - other.time);
  return happened.filter((each) => each === happened.findLast(({ to }) => to === each.to));
}

export type Transition = ReturnType<typeof transitionsOf>[number];
