import { illegalArgument } from '@gatehouse/api-envelope';
import { z } from 'zod';
import { findOrRefuse } from '../devices/get-device-detail.ts';
import { enumerated, parsePayload, text } from '../devices/payload.ts';
import { type LogRecord, type Logs, logTypes, type NewLogRecord } from './log-record.ts';

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

export const MAX_RECORDS = 1000;
const MAX_CONTENT_LENGTH = 64 * 1024;
const MAX_MESSAGE_ID_LENGTH = 128;
const MAX_ADDRESS_LENGTH = 255;

const payload = z.object(
  {
    type: enumerated(logTypes),
    timestamp: z.int('must be epoch milliseconds').nullish(),
    content: z.unknown().transform(toContent).optional(),
    messageId: text(MAX_MESSAGE_ID_LENGTH).nullish(),
    address: text(MAX_ADDRESS_LENGTH).nullish(),
  },
  'must be a JSON object',
);
const several = z
  .array(payload)
  .min(1, `must be 1 to ${MAX_RECORDS} records`)
  .max(MAX_RECORDS, `must be 1 to ${MAX_RECORDS} records`);

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
  const written = Array.isArray(body) ? parsePayload(several, body) : [parsePayload(payload, body)];
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
  return findOrRefuse(deviceId, (known) => logs.append(known, records, receivedAt));
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

/** A text is kept as it is, every other value as its JSON. */
function toContent(value: unknown, context: z.RefinementCtx): string {
  const content = typeof value === 'string' ? value : JSON.stringify(value ?? '');
  const plain = value === undefined || value === null ? '' : content;
  if (plain.length > MAX_CONTENT_LENGTH) {
    context.addIssue(`must have at most ${MAX_CONTENT_LENGTH} characters`);
  } else if (plain.includes('\0') || !plain.isWellFormed()) {
    context.addIssue('must not contain NUL or broken Unicode');
  }
  return plain;
}
