/**
 * Owns the records that devices report. They are added, queried newest first, and expire.
 *
 *   http (handlers, replies) ─▶ rules (reports, online and offline) ─▶ sql     expiry: in small steps
 *
 * Records never change. Communication with devices is not here: a device connector reports the
 * records.
 */
import { type LogRecordReply, logTypeLabels } from '@gatehouse/device-api';
import { type ApiRequest, labelerOf, readJsonBody, readQuery } from '../http/handler.ts';

import { assertFound } from '../input.ts';
import { printRows, replyWithItems, replyWithPage } from '../query/pages.ts';
import { parseQuery } from '../query/query.ts';
import { readReport } from './rules.ts';
import { appendToLog, type LogRow, logSubject, readLog } from './sql.ts';

export const logHandlers = {
  /** Operation 1 returns an array, with the count in a header. */
  'log.list': async (request: ApiRequest) => replyWithItems((await findPage(request)).page),
  'log.query': async (request: ApiRequest) => {
    const { page, query } = await findPage(request);
    return replyWithPage(page, query);
  },
  /** Returns the stored record, or an array for an array. */
  'log.report': async (request: ApiRequest) => {
    const { database, message, path, now } = request;
    const body = await readJsonBody(message);
    const records = readReport(body, now);
    const rows = assertFound(await appendToLog(database, path.deviceId, records, now));
    const described = rows.map(recordDescriber(request));
    return { result: Array.isArray(body) ? described : described[0] };
  },
};

async function findPage(request: ApiRequest) {
  const query = parseQuery(await readQuery(request), logSubject);
  const page = assertFound(await readLog(request.database, request.path.deviceId, query));
  return { page: printRows(page, query, recordDescriber(request)), query };
}

function recordDescriber(request: ApiRequest): (row: LogRow) => LogRecordReply {
  const label = labelerOf(request);
  return (row) => ({
    id: row.id,
    deviceId: row.device_id,
    productId: row.product_id,
    type: label(logTypeLabels, row.type),
    createTime: row.create_time,
    timestamp: row.timestamp,
    content: row.content,
    ...(row.message_id === '' ? {} : { messageId: row.message_id }),
  });
}
