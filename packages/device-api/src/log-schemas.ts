import { z } from 'zod';
import { pageOf } from './list-schemas.ts';
import { enumerated, labeled, text } from './members.ts';

export const logTypes = [
  'event',
  'readProperty',
  'writeProperty',
  'reportProperty',
  'child',
  'childReply',
  'functionInvoke',
  'readPropertyReply',
  'writePropertyReply',
  'functionReply',
  'register',
  'unregister',
  'offline',
  'online',
  'other',
] as const;

export type LogType = (typeof logTypes)[number];

export const MAXIMUM_RECORDS = 1000;

const MAXIMUM_CONTENT_LENGTH = 64 * 1024;
const MAXIMUM_MESSAGE_ID_LENGTH = 128;
const MAXIMUM_ADDRESS_LENGTH = 255;

export const logRecordRequest = z.object(
  {
    type: enumerated(logTypes).describe(
      '`online` and `offline` change the state of the device. The form of replies is also accepted.',
    ),
    timestamp: z
      .int('must be epoch milliseconds')
      .nullish()
      .describe('When the event happened, in epoch milliseconds. Default: now.'),
    content: z
      .unknown()
      .transform(toContent)
      .optional()
      .describe(
        `A string of at most ${MAXIMUM_CONTENT_LENGTH} characters, or JSON, which is stored as a string.`,
      ),
    messageId: text(MAXIMUM_MESSAGE_ID_LENGTH).nullish(),
    address: text(MAXIMUM_ADDRESS_LENGTH)
      .nullish()
      .describe('The address of the connection. Only with the type `online`.'),
  },
  'must be a JSON object',
);

export const logRecordsRequest = z
  .array(logRecordRequest)
  .min(1, `must be 1 to ${MAXIMUM_RECORDS} records`)
  .max(MAXIMUM_RECORDS, `must be 1 to ${MAXIMUM_RECORDS} records`);

export const logTypeLabel = labeled(logTypes);

export const logRecord = z.strictObject({
  id: z.string(),
  deviceId: z.string(),
  productId: z.string(),
  type: logTypeLabel,
  createTime: z.int().describe('When the service stored the record, in epoch milliseconds.'),
  timestamp: z.int().describe('When the event happened, in epoch milliseconds.'),
  content: z.string(),
  messageId: z.string().optional(),
});

/** A query can select fields, so every member of an item is optional. */
export const logListItem = logRecord.partial();

export const logPage = pageOf(logListItem);

export type LogRecordReply = Readonly<z.infer<typeof logRecord>>;

function toContent(value: unknown, context: z.RefinementCtx): string {
  const content = toText(value);
  if (content.length > MAXIMUM_CONTENT_LENGTH) {
    context.addIssue(`must have at most ${MAXIMUM_CONTENT_LENGTH} characters`);
  } else if (content.includes('\0') || !content.isWellFormed()) {
    context.addIssue('must not contain NUL or broken Unicode');
  }
  return content;
}

/** A string stays unchanged, null and undefined become an empty string, and the rest JSON. */
function toText(value: unknown): string {
  if (value === undefined || value === null) {
    return '';
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}
