import { randomBytes } from 'node:crypto';
import { logTypeLabels } from '@gatehouse/device-api';
import { sql } from 'kysely';
import type { OrganizationDatabase } from '../database/organization-database.ts';
import { inTransaction, prepared, withOneChange } from '../database/queries.ts';
import type { Condition } from '../query/condition.ts';
import {
  compileCondition,
  countQuery,
  countUpToLimit,
  orderOf,
  type Page,
  readPage,
  toCount,
  type Window,
} from '../query/pages.ts';
import { column, type Query, querySubject, type Sort } from '../query/query.ts';
import { type NewLogRecord, type Transition, transitionsOf } from './rules.ts';

/** What a query of log records can name. */
export const logSubject = querySubject(
  {
    id: column('text', 'device_logs.id'),
    deviceId: column('text', 'device_logs.device_id'),
    productId: column('text', 'device_logs.product_id'),
    type: column('enum', 'device_logs.type', logTypeLabels),
    createTime: column('integer', 'device_logs.create_time'),
    timestamp: column('integer', 'device_logs.timestamp'),
    content: column('text', 'device_logs.content'),
    messageId: column('text', 'device_logs.message_id'),
  },
  { newestBy: 'timestamp', tieBreak: 'same' },
);

const sources = prepared(({ tables }, { id }: { readonly id: string }) =>
  tables.selectFrom('devices').select(['id', 'incarnation', 'product_id']).where('id', '=', id),
);

/** The device that reports. The incarnation separates its log from that of an earlier one. */
type LogSource = Awaited<ReturnType<typeof sources>>[number];
type LogKey = Pick<LogSource, 'id' | 'incarnation'>;

/** Newest first by `timestamp`, unless the query has sorts. Undefined: the device does not exist. */
export async function readLog(
  database: OrganizationDatabase,
  deviceId: string,
  query: Query,
): Promise<Page<LogRow> | undefined> {
  const [device] = await sources(database, { id: deviceId });
  if (device === undefined) {
    return undefined;
  }
  const { condition, sorts } = query;
  const { id, incarnation } = device;
  const isPlain = condition === undefined && sorts.length === 0;
  const records = () => selectRecords(database, device, condition);
  return readPage(query, {
    rows: (window) =>
      isPlain
        ? plainRows(database, { id, incarnation, ...window })
        : selectPage(records(), sorts, window).execute(),
    count: async () =>
      condition === undefined
        ? toCount(await plainCount(database, { id, incarnation }))
        : countUpToLimit(database, records()),
  });
}

const plainRows = prepared((database, { limit, offset, ...key }: LogKey & Window) =>
  selectPage(selectRecords(database, key), [], { limit, offset }),
);

export type LogRow = Awaited<ReturnType<typeof plainRows>>[number];

const plainCount = prepared((database, key: LogKey) =>
  countQuery(database, selectRecords(database, key)),
);

function selectRecords(
  { tables, engine }: OrganizationDatabase,
  { id, incarnation }: LogKey,
  condition?: Condition,
) {
  return tables
    .selectFrom('device_logs')
    .where('device_id', '=', id)
    .where('incarnation', '=', incarnation)
    .where(compileCondition(condition, logSubject.columns, engine));
}

function selectPage(
  records: ReturnType<typeof selectRecords>,
  sorts: readonly Sort[],
  { limit, offset }: Window,
) {
  return records
    .select(['id', 'device_id', 'product_id', 'type', 'create_time', 'timestamp', 'content'])
    .select('message_id')
    .orderBy(orderOf(sorts, logSubject))
    .limit(limit)
    .offset(offset);
}

/**
 * Adds the records and updates the state of the device, in one atomic step. Undefined: the device
 * does not exist.
 */
export function appendToLog(
  database: OrganizationDatabase,
  deviceId: string,
  records: readonly NewLogRecord[],
  now: number,
): Promise<readonly LogRow[] | undefined> {
  const transitions = transitionsOf(records, now);
  const appendTo = async (current: OrganizationDatabase) => {
    const stored = await insertRecords(current, deviceId, records, now);
    if (stored !== undefined) {
      for (const transition of transitions) {
        await applyTransition(current, deviceId, transition);
      }
    }
    return stored;
  };
  return transitions.length === 0
    ? withOneChange(database, appendTo)
    : inTransaction(database, appendTo);
}

async function insertRecords(
  database: OrganizationDatabase,
  deviceId: string,
  records: readonly NewLogRecord[],
  now: number,
): Promise<readonly LogRow[] | undefined> {
  const rows = records.map(({ address: _, ...record }, index) => ({
    id: createLogId(now, index),
    device_id: deviceId,
    create_time: now,
    ...record,
  }));
  const [only] = rows;
  if (only !== undefined && rows.length === 1) {
    // Finds the device in the same statement.
    const [device] = await insertedRecord(database, only);
    return device && [{ ...only, ...device }];
  }
  const [device] = await sources(database, { id: deviceId });
  if (device === undefined) {
    return undefined;
  }
  const { incarnation, product_id } = device;
  const complete = rows.map((row) => ({ ...row, product_id }));
  await database.tables
    .insertInto('device_logs')
    .values(complete.map((row) => ({ ...row, incarnation })))
    .execute();
  return complete;
}

/** The device adds its own two members. */
const insertedRecord = prepared(({ tables }, row: Omit<LogRow, 'product_id'>) =>
  tables
    .insertInto('device_logs')
    .columns([...(Object.keys(row) as (keyof typeof row)[]), 'incarnation', 'product_id'])
    .expression((query) =>
      query
        .selectFrom('devices')
        .where('id', '=', row.device_id)
        .select(({ val }) => Object.entries(row).map(([name, value]) => val(value).as(name)))
        .select(['incarnation', 'product_id']),
    )
    .returning('product_id'),
);

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
  { tables }: OrganizationDatabase,
  deviceId: string,
  { to, time, address }: Transition,
): Promise<void> {
  await tables
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
