import type { LogType } from '@gatehouse/device-api';
import { type Selectable, sql } from 'kysely';
import { fixedQuery, type ValueOf } from '../database/fixed-query.ts';
import { inTransaction, withOneChange } from '../database/in-transaction.ts';
import type { OrganizationDatabase } from '../database/organization-scope.ts';
import { type ColumnExpressions, compileCondition } from '../query-grammar/compile-condition.ts';
import type { Condition } from '../query-grammar/condition.ts';
import { type Ordering, orderings } from '../query-grammar/orderings.ts';
import type { Query, Sort } from '../query-grammar/query.ts';
import { COUNT_LIMIT, type Page, readPage } from '../query-grammar/read-page.ts';
import type { DatabaseEngine, DeviceLogTable } from '../tables/tables.ts';
import { insertRecord, insertRecords, type LogSource } from './insert-records.ts';
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
    append(deviceId, records, now) {
      const transitions = transitionsOf(records, now);
      const appendTo = async (current: OrganizationDatabase) => {
        const stored = await insertInto(current, deviceId, records, now);
        if (stored === undefined) {
          return undefined;
        }
        for (const transition of transitions) {
          await applyTransition(current, deviceId, transition);
        }
        return stored;
      };
      return transitions.length === 0
        ? withOneChange(database, engine, appendTo)
        : inTransaction(database, appendTo);
    },
  };
}

const sourceRow = fixedQuery((database, value: ValueOf<{ id: string }>) =>
  database
    .selectFrom('devices')
    .select(['id', 'incarnation', 'product_id'])
    .where('id', '=', value('id')),
);

async function findSource(
  database: OrganizationDatabase,
  id: string,
): Promise<LogSource | undefined> {
  const [source] = await sourceRow(database, { id });
  return source;
}

async function insertInto(
  database: OrganizationDatabase,
  deviceId: string,
  records: readonly NewLogRecord[],
  now: number,
): Promise<readonly LogRecord[] | undefined> {
  const [only] = records;
  if (only !== undefined && records.length === 1) {
    const stored = await insertRecord(database, deviceId, only, now);
    return stored && [stored];
  }
  const device = await findSource(database, deviceId);
  return device && insertRecords(database, device, records, now);
}

async function readLogPage(
  database: OrganizationDatabase,
  device: LogSource,
  query: Query,
  engine: DatabaseEngine,
): Promise<Page<LogRecord>> {
  const { condition, sorts } = query;
  const { id, incarnation } = device;
  return readPage(query, {
    rows: async (limit, offset) => {
      const isPlain = condition === undefined && sorts.length === 0;
      const rows = isPlain
        ? await plainRows(database, { id, incarnation, limit, offset })
        : await selectRows(selectRecords(database, device, condition, engine), sorts, {
            limit,
            offset,
          }).execute();
      return rows.map(toRecord);
    },
    count: async () => {
      const rows =
        condition === undefined
          ? await plainCount(database, { id, incarnation })
          : await countRecords(
              database,
              selectRecords(database, device, condition, engine),
            ).execute();
      const total = rows[0]?.total ?? 0;
      return { total: Math.min(total, COUNT_LIMIT), isExact: total <= COUNT_LIMIT };
    },
  });
}

type LogKey = Pick<LogSource, 'id' | 'incarnation'>;

interface Window {
  readonly limit: number;
  readonly offset: number;
}

const plainRows = fixedQuery((database, value: ValueOf<LogKey & Window>) =>
  selectRows(selectRecords(database, { id: value('id'), incarnation: value('incarnation') }), [], {
    limit: value('limit'),
    offset: value('offset'),
  }),
);

const plainCount = fixedQuery((database, value: ValueOf<LogKey>) =>
  countRecords(
    database,
    selectRecords(database, { id: value('id'), incarnation: value('incarnation') }),
  ),
);

function selectRecords(
  database: OrganizationDatabase,
  { id, incarnation }: LogKey,
  condition?: Condition,
  engine: DatabaseEngine = 'sqlite',
) {
  const ofDevice = database
    .selectFrom('device_logs')
    .where('device_id', '=', id)
    .where('incarnation', '=', incarnation);
  return condition === undefined
    ? ofDevice
    : ofDevice.where(compileCondition(condition, expressions, engine));
}

type Records = ReturnType<typeof selectRecords>;

function selectRows(records: Records, sorts: readonly Sort[], { limit, offset }: Window) {
  let rows = records.selectAll().limit(limit).offset(offset);
  for (const column of orderings(sorts, expressions, ordering)) {
    rows = rows.orderBy(column);
  }
  return rows;
}

function countRecords(database: OrganizationDatabase, records: Records) {
  const found = records
    .select('id')
    .limit(COUNT_LIMIT + 1)
    .as('found');
  return database
    .selectFrom(found)
    .select((expression) => expression.fn.countAll<number>().as('total'));
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
