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
  const stored = records.map((record, index) =>
    toStored(record, createLogId(now, index), device, now),
  );
  const rows = stored.map((record) => ({
    id: record.id,
    device_id: record.deviceId,
    incarnation: device.incarnation,
    product_id: record.productId,
    type: record.type,
    create_time: record.createTime,
    timestamp: record.timestamp,
    content: record.content,
    message_id: record.messageId,
  }));
  await transaction.insertInto('device_logs').values(rows).execute();
  return stored;
}

/** Finds the device in the same statement. Undefined: the device does not exist. */
export async function insertRecord(
  database: OrganizationDatabase,
  deviceId: string,
  record: NewLogRecord,
  now: number,
): Promise<LogRecord | undefined> {
  const id = createLogId(now, 0);
  const [device] = await insertion(database, { ...record, id, deviceId, now });
  return device && toStored(record, id, { ...device, id: deviceId }, now);
}

type Insertion = NewLogRecord & {
  readonly id: string;
  readonly deviceId: string;
  readonly now: number;
};

const insertion = fixedQuery((database, value: ValueOf<Insertion>) =>
  database
    .insertInto('device_logs')
    .columns([
      'id',
      'device_id',
      'incarnation',
      'product_id',
      'type',
      'create_time',
      'timestamp',
      'content',
      'message_id',
    ])
    .expression((query) =>
      query
        .selectFrom('devices')
        .where('id', '=', value('deviceId'))
        .select(({ val }) => [
          val(value('id')).as('id'),
          'devices.id as device_id',
          'incarnation',
          'product_id',
          val(value('type') as string).as('type'),
          val(value('now')).as('create_time'),
          val(value('timestamp')).as('timestamp'),
          val(value('content')).as('content'),
          val(value('messageId')).as('message_id'),
        ]),
    )
    .returning('product_id'),
);

function toStored(
  { type, timestamp, content, messageId }: NewLogRecord,
  id: string,
  device: Pick<LogSource, 'id' | 'product_id'>,
  now: number,
): LogRecord {
  return {
    id,
    deviceId: device.id,
    productId: device.product_id,
    type,
    createTime: now,
    timestamp,
    content,
    messageId,
  };
}

/** Ids sort by arrival and position in the report. This orders records with the same timestamp. */
function createLogId(now: number, index: number): string {
  const arrival = now.toString(16).padStart(12, '0');
  return `${arrival}${index.toString(16).padStart(4, '0')}${randomBytes(8).toString('hex')}`;
}
