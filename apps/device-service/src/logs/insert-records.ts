import { randomBytes } from 'node:crypto';
import { fixedQuery, type ValueOf } from '../database/fixed-query.ts';
import type { OrganizationDatabase } from '../database/organization-scope.ts';
import type { LogRecord, NewLogRecord } from './log-record.ts';

/** The device that reports, which separates its log from that of an earlier one. */
export interface LogSource {
  readonly id: string;
  readonly incarnation: number;
  readonly product_id: string;
}

export async function insertRecords(
  transaction: OrganizationDatabase,
  device: LogSource,
  records: readonly NewLogRecord[],
  now: number,
): Promise<readonly LogRecord[]> {
  const stored = records.map(
    ({ type, timestamp, content, messageId }, index): LogRecord => ({
      id: createLogId(now, index),
      deviceId: device.id,
      productId: device.product_id,
      type,
      createTime: now,
      timestamp,
      content,
      messageId,
    }),
  );
  const rows = stored.map((record) => toRow(record, device.incarnation));
  const [only] = rows;
  if (only !== undefined && rows.length === 1) {
    await oneInsertion(transaction, only);
  } else {
    await transaction.insertInto('device_logs').values(rows).execute();
  }
  return stored;
}

function toRow(record: LogRecord, incarnation: number) {
  return {
    id: record.id,
    device_id: record.deviceId,
    incarnation,
    product_id: record.productId,
    type: record.type as string,
    create_time: record.createTime,
    timestamp: record.timestamp,
    content: record.content,
    message_id: record.messageId,
  };
}

const oneInsertion = fixedQuery((database, value: ValueOf<ReturnType<typeof toRow>>) =>
  database.insertInto('device_logs').values({
    id: value('id'),
    device_id: value('device_id'),
    incarnation: value('incarnation'),
    product_id: value('product_id'),
    type: value('type'),
    create_time: value('create_time'),
    timestamp: value('timestamp'),
    content: value('content'),
    message_id: value('message_id'),
  }),
);

/** Ids sort by arrival and position in the report. This orders records with the same timestamp. */
function createLogId(now: number, index: number): string {
  const arrival = now.toString(16).padStart(12, '0');
  return `${arrival}${index.toString(16).padStart(4, '0')}${randomBytes(8).toString('hex')}`;
}
