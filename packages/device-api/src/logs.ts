import { z } from 'zod';
import { logTypeLabels } from './labels.ts';
import { EXAMPLE_TIME, enumerated, labeled, text } from './members.ts';
import { devicePaths, type OperationEntries, withSuffixes } from './operation.ts';
import { examplePage, pageOf, queryRequest } from './queries.ts';

export const MAXIMUM_RECORDS = 1000;

const MAXIMUM_CONTENT_LENGTH = 64 * 1024;
export const logRecordRequest = z
  .object(
    {
      type: enumerated(logTypeLabels).describe(
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
      messageId: text(128).nullish(),
      address: text(255)
        .nullish()
        .describe('The address of the connection. Only with the type `online`.'),
    },
    'must be a JSON object',
  )
  .meta({ id: 'NewLogRecord' });

export const logRecordsRequest = z
  .array(logRecordRequest)
  .min(1, `must be 1 to ${MAXIMUM_RECORDS} records`)
  .max(MAXIMUM_RECORDS, `must be 1 to ${MAXIMUM_RECORDS} records`);

const logRecord = z
  .strictObject({
    id: z.string(),
    deviceId: z.string(),
    productId: z.string(),
    type: labeled(logTypeLabels).meta({ id: 'LogType' }),
    createTime: z.int().describe('When the service stored the record, in epoch milliseconds.'),
    timestamp: z.int().describe('When the event happened, in epoch milliseconds.'),
    content: z.string(),
    messageId: z.string().optional(),
  })
  .meta({ id: 'LogRecord' });

/** A query can select fields, so every member of an item is optional. */
const logListItem = logRecord.partial().meta({ id: 'LogListItem' });

export type LogRecordReply = Readonly<z.infer<typeof logRecord>>;

/** A string stays unchanged, null and undefined become an empty string, and the rest JSON. */
function toContent(value: unknown, context: z.RefinementCtx): string {
  const written = value ?? '';
  const content = typeof written === 'string' ? written : JSON.stringify(written);
  if (content.length > MAXIMUM_CONTENT_LENGTH) {
    context.addIssue(`must have at most ${MAXIMUM_CONTENT_LENGTH} characters`);
  } else if (content.includes('\0') || !content.isWellFormed()) {
    context.addIssue('must not contain NUL or broken Unicode');
  }
  return content;
}

const exampleRecord = {
  id: '019a0c1e-7d1c-7c3a-9f0e-2f5b8f6f1a2b',
  deviceId: 'pump-1',
  productId: 'pump',
  type: { text: 'Report property', value: 'reportProperty' },
  createTime: EXAMPLE_TIME,
  timestamp: EXAMPLE_TIME,
  content: '{"pressure":4.2}',
  messageId: 'm-1',
};

export const logOperations = {
  'log.list': {
    scope: 'device:log',
    methods: ['GET'],
    paths: withSuffixes(devicePaths, '/log/_query'),
    request: queryRequest,
    reply: z.array(logListItem),
    summary: 'List log records of a device',
    description:
      'Returns one page, the newest records first. The header `X-Total-Count` has the number of all records.',
    example: { result: [exampleRecord] },
  },
  'log.query': {
    scope: 'device:log',
    methods: ['POST'],
    paths: withSuffixes(devicePaths, '/log/_query'),
    request: queryRequest,
    reply: pageOf(logListItem).meta({ id: 'LogPage' }),
    summary: 'Query log records of a device',
    description: 'Returns one page, the newest records first.',
    example: {
      request: { terms: [{ column: 'type', value: 'reportProperty' }] },
      result: examplePage(exampleRecord),
    },
  },
  'log.report': {
    scope: 'device:report',
    methods: ['POST'],
    paths: withSuffixes(devicePaths, '/log'),
    request: z.union([logRecordRequest, logRecordsRequest]),
    reply: z.union([logRecord, z.array(logRecord)]),
    summary: 'Report log records of a device',
    description:
      'Send one record, or an array of up to 1000 records. An array is stored completely or not at all.',
    example: {
      request: { type: 'reportProperty', content: { pressure: 4.2 }, messageId: 'm-1' },
      result: exampleRecord,
    },
  },
} as const satisfies OperationEntries;
