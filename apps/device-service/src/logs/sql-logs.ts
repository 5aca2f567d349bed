import { randomBytes } from 'node:crypto';
import type { LogType } from '@gatehouse/device-api';
import { type Selectable, sql } from 'kysely';
import { inTransaction } from '../database/in-transaction.ts';
import type { OrganizationDatabase } from '../database/organization-scope.ts';
import { type ColumnExpressions, compileCondition } from '../query-grammar/compile-condition.ts';
import { type Ordering, orderings } from '../query-grammar/orderings.ts';
import type { Query } from '../query-grammar/query.ts';
import { COUNT_LIMIT, type Page, readPage } from '../query-grammar/read-page.ts';
import type { DatabaseEngine, DeviceLogTable } from '../tables/tables.ts';
import type { LogRecord, Logs, NewLogRecord } from './log-record.ts';
import type { logQueryColumns } from './log-subject.ts';
import { type Transition, transitionsOf } from './state-transitions.ts';

const ordering: Ordering = {
  defaultSorts: [{ column: 'timestamp', descending: true }],
  tieBreak: 'same',
};

const expressions: ColumnExpressions = {
  id: sql.ref('device_logs.id'),
  deviceId: sql.ref('device_logs.device_id'),
  productId: sql.ref('device_logs.product_id'),
  type: sql.ref('device_logs.type'),
  createTime: sql.ref('device_logs.create_time'),
  timestamp: sql.ref('device_logs.timestamp'),
  content: sql.ref('device_logs.content'),
  messageId: sql.ref('device_logs.message_id'),
} satisfies Record<keyof typeof logQueryColumns, unknown>;

export function createSqlLogs(database: OrganizationDatabase, engine: DatabaseEngine): Logs {
  return {
    page: async (deviceId, query) => {
      const device = await findSource(database, deviceId);
      return device === undefined ? undefined : readLogPage(database, device, query, engine);
    },
    append: (deviceId, records, now) =>
      inTransaction(database, async (transaction) => {
        const device = await findSource(transaction, deviceId);
        if (device === undefined) {
          return undefined;
        }
        const stored = await insertRecords(transaction, device, records, now);
        for (const transition of transitionsOf(records, now)) {
          await applyTransition(transaction, deviceId, transition);
        }
        return stored;
      }),
  };
}

interface LogSource {
  readonly id: string;
  readonly incarnation: number;
  readonly product_id: string;
}

function findSource(
  database: OrganizationDatabase,
  deviceId: string,
): Promise<LogSource | undefined> {
  return database
    .selectFrom('devices')
    .select(['id', 'incarnation', 'product_id'])
    .where('id', '=', deviceId)
    .executeTakeFirst();
}

async function readLogPage(
  database: OrganizationDatabase,
  device: LogSource,
  query: Query,
  engine: DatabaseEngine,
): Promise<Page<LogRecord>> {
  const ofDevice = database
    .selectFrom('device_logs')
    .where('device_id', '=', device.id)
    .where('incarnation', '=', device.incarnation);
  const { condition } = query;
  const records =
    condition === undefined
      ? ofDevice
      : ofDevice.where(compileCondition(condition, expressions, engine));
  return readPage(query, {
    rows: async (limit, offset) => {
      let rows = records.selectAll().limit(limit).offset(offset);
      for (const column of orderings(query.sorts, expressions, ordering)) {
        rows = rows.orderBy(column);
      }
      return (await rows.execute()).map(toRecord);
    },
    count: async () => {
      const found = records
        .select('id')
        .limit(COUNT_LIMIT + 1)
        .as('found');
      const { total } = await database
        .selectFrom(found)
        .select((expression) => expression.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { total: Math.min(total, COUNT_LIMIT), isExact: total <= COUNT_LIMIT };
    },
  });
}

async function insertRecords(
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

/** Ids sort by arrival and position in the report. This orders records with the same timestamp. */
function createLogId(now: number, index: number): string {
  const arrival = now.toString(16).padStart(12, '0');
  return `${arrival}${index.toString(16).padStart(4, '0')}${randomBytes(8).toString('hex')}`;
}

/**
 * Ignores a transition that is older than the last one, such as a record that an offline device
 * stored. A device that is not activated keeps its state, and only its connection changes.
 */
async function applyTransition(
  transaction: OrganizationDatabase,
  deviceId: string,
  { to, time, address }: Transition,
): Promise<void> {
  await transaction
    .updateTable('devices')
    .set({
      state: sql<string>`case when state = 'notActive' then state else ${to} end`,
      connected: to === 'online' ? 1 : 0,
      ...(to === 'online' ? { online_time: time } : { offline_time: time }),
      ...(address === undefined ? {} : { address }),
    })
    .where('id', '=', deviceId)
    .where('online_time', '<=', time)
    .where('offline_time', '<=', time)
    .execute();
}

function toRecord(row: Selectable<DeviceLogTable>): LogRecord {
  return {
    id: row.id,
    deviceId: row.device_id,
    productId: row.product_id,
    type: row.type as LogType,
    createTime: row.create_time,
    timestamp: row.timestamp,
    content: row.content,
    messageId: row.message_id,
  };
}
