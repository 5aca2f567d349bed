/**
 * Owns the records that devices report. They are added, queried newest first, and expire.
 *
 *   http (handlers, replies) ─▶ rules (reports, online and offline) ─▶ sql     expiry: in small steps
 *
 * Records never change. Communication with devices is not here: a device connector reports the
 * records.
 */
import type { LogRecordReply, LogType } from '@gatehouse/device-api';
import {
  type ApiRequest,
  type Labels,
  labelerOf,
  readJsonBody,
  readQuery,
} from '../http/handler.ts';

import { assertFound } from '../input.ts';
import { countHeaders, describeItems, describePage } from '../query/pages.ts';
import { parseQuery } from '../query/query.ts';
import { readReport } from './rules.ts';
import { appendToLog, type LogRow, logSubject, readLog } from './sql.ts';

export const logHandlers = {
  /** Operation 1 returns an array, with the count in a header. */
  'log.list': async (request: ApiRequest) => {
    const { page, query } = await findPage(request);
    const result = describeItems(page, query, recordDescriber(request));
    return { result, headers: countHeaders(page) };
  },
  'log.query': async (request: ApiRequest) => {
    const { page, query } = await findPage(request);
    return { result: describePage(page, query, recordDescriber(request)) };
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
  return { page, query };
}

function recordDescriber(request: ApiRequest): (row: LogRow) => LogRecordReply {
  const label = labelerOf(request);
  return (row) => ({
    id: row.id,
    deviceId: row.device_id,
    productId: row.product_id,
    type: label(labels, row.type as LogType),
    createTime: row.create_time,
    timestamp: row.timestamp,
    content: row.content,
    ...(row.message_id === '' ? {} : { messageId: row.message_id }),
  });
}

const labels: Labels<LogType> = {
  event: { en: 'Event', zh: '事件上报' },
  readProperty: { en: 'Read property', zh: '读取属性' },
  writeProperty: { en: 'Write property', zh: '修改属性' },
  reportProperty: { en: 'Report property', zh: '属性上报' },
  child: { en: 'Child device message', zh: '子设备消息' },
  childReply: { en: 'Child device reply', zh: '子设备消息回复' },
  functionInvoke: { en: 'Invoke function', zh: '调用功能' },
  readPropertyReply: { en: 'Read property reply', zh: '读取属性回复' },
  writePropertyReply: { en: 'Write property reply', zh: '修改属性回复' },
  functionReply: { en: 'Invoke function reply', zh: '调用功能回复' },
  register: { en: 'Register', zh: '设备注册' },
  unregister: { en: 'Unregister', zh: '设备注销' },
  offline: { en: 'Offline', zh: '离线' },
  online: { en: 'Online', zh: '上线' },
  other: { en: 'Other', zh: '其它' },
};
